"""The same as `parabank report`, from a checkout; it works in one process."""

import sys

from builders.commands.report_parabank import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
