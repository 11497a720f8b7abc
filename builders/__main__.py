"""`python -m builders` is `parabank`, for launchers that take a module; a builder needs no `build` before its name."""

import sys

from builders.command_line import main
from builders.commands.build_parabank import BUILDERS

if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(["build", *arguments] if arguments[:1] and arguments[0] in BUILDERS else arguments))
