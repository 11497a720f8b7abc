"""The same as `parabank report`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.report_parabank import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
