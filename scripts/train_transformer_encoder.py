"""The same as `parabank train transformer_encoder`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.train_transformer_encoder import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
