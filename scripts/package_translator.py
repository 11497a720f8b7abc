"""The same as `parabank package translator`, from a checkout; it works in one process."""

import sys

from builders.commands.package_translator import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
