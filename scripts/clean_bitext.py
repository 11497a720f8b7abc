"""The same as `parabank clean`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.clean_bitext import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
