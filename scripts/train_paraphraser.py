"""The same as `parabank train paraphraser`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.train_paraphraser import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
