"""The same as `parabank train infiller`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.train_infiller import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
