"""The same as `parabank mine negatives`, from a checkout; it works in one process."""

import sys

from builders.commands.mine_negatives import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
