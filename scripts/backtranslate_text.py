"""The same as `parabank backtranslate`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.backtranslate_text import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
