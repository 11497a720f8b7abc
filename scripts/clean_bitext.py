"""The same as `parabank clean`, from a checkout; it works in one process."""

import sys

from builders.commands.clean_bitext import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
