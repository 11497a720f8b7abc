"""The same as `parabank paraphrase`, from a checkout; it works in one process."""

import sys

from builders.commands.paraphrase_document import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
