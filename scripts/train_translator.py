"""The same as `parabank train translator`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.train_translator import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
