"""The same as `parabank train judgment`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.train_judgment import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
