"""The same as `parabank rewrite`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.rewrite_text import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
