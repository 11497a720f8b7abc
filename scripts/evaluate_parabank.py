"""The same as `parabank evaluate parabank`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.evaluate_parabank import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
