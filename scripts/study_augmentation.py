"""The same as `parabank study`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.study_augmentation import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
