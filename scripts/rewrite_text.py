"""The same as `parabank rewrite`, from a checkout; it works in one process."""

import sys

from builders.commands.rewrite_text import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
