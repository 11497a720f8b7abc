"""The same as `parabank build`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.build_parabank import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
