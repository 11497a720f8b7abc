"""The same as `parabank package encoder`, from a checkout; it works in one process."""

import sys

from builders.commands.package_encoder import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
