"""`python -m builders` is `parabank`, for launchers of several processes that take a module."""

import sys

from builders.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
