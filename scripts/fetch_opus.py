"""The same as `parabank fetch opus`, from a checkout; it works in one process."""

import sys

from builders.commands.fetch_opus import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
