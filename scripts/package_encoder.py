"""The same as `parabank package encoder`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.package_encoder import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
