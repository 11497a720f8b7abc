"""The same as `parabank train pair_classifier`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.train_pair_classifier import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
