"""The same as `parabank augment`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.augment_dataset import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
