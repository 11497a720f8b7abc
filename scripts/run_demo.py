"""The same as `parabank demo`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.run_demo import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
