"""The same as `parabank evaluate encoder`, from a checkout; it works in one process."""

import sys

from builders.commands.evaluate_encoder import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
