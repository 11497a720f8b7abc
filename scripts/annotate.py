"""The same as `parabank annotate`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.annotate import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
