"""The same as `parabank fetch opus`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.fetch_opus import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
