"""The same as `parabank train judgment`, from a checkout; it works in one process."""

import sys

from builders.commands.train_judgment import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
