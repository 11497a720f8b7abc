"""The same as `parabank study`, from a checkout; it works in one process."""

import sys

from builders.commands.study_augmentation import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
