"""The same as `parabank publish parabank`, from a checkout; it works in one process."""

import sys

from builders.commands.publish_parabank import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
