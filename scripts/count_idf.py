"""The same as `parabank count idf`, from a checkout; it works in one process."""

import sys

from builders.commands.count_idf import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
