"""The same as `parabank filter bitext`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.filter_bitext import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
