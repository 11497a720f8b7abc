"""The same as `parabank train static_encoder`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.train_static_encoder import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
