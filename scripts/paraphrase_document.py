"""The same as `parabank paraphrase`, for `accelerate launch` and `torchrun`."""

import sys

from builders.commands.paraphrase_document import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
