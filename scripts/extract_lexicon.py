"""The same as `parabank extract lexicon`, from a checkout; it works in one process."""

import sys

from builders.commands.extract_lexicon import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
