"""The same as `parabank annotate`, from a checkout; it works in one process."""

import sys

from builders.commands.annotate import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
