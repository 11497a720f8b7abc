"""The same as `parabank mine negatives`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.mine_negatives import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
