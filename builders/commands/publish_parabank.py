r"""Publish a packaged parabank on the Hub as a version.

    parabank publish parabank build/my-parabank someone/my-parabank --version 1.0.0 --dry_run
    parabank publish parabank build/my-parabank someone/my-parabank --version 1.0.0

All files come in one commit, and the tag v1.0.0 last, so that nobody ever loads a part of a version. After an
interruption run the same command again: what the Hub has is not sent again. Of a later version only what changed is
sent. The token is that of `hf auth login`, or HF_TOKEN; HF_ENDPOINT names another Hub, and one without Xet storage
needs HF_HUB_DISABLE_XET=1.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from toolkit.system.command import run_command
from toolkit.system.settings import Parser

PROGRAM = "parabank publish parabank"


def main(arguments: list[str]) -> int:
    """Parse the command line, publish; print an error as one line."""
    parser = Parser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder that a builder made")
    parser.add_argument("name", metavar="OWNER/NAME", help="repository on the Hub; made if it does not exist")
    parser.add_argument("--version", help="MAJOR.MINOR.PATCH (default: that of the folder)")
    parser.add_argument("--changes", default="", help="what is new in this version, for the card")
    parser.add_argument("--public", action="store_true", help="let everybody see a repository that is made now")
    parser.add_argument("--dry_run", action="store_true", help="list the files and their bytes; change nothing")
    options = parser.parse_args(arguments)
    return run_command(PROGRAM, lambda: _work(options), resumes=True)


def _work(options: argparse.Namespace) -> None:
    """Publish, and print what is sent and where it is."""
    # Imported here because it loads the Hub's library, which --help does not need.
    from huggingface_hub import HfApi

    from toolkit.publish.hub import publish
    from toolkit.publish.parabank import plan_parabank

    api = HfApi()
    address = publish(
        api,
        options.name,
        lambda: plan_parabank(api, options.folder, options.name, options.version, options.changes),
        options.public,
        options.dry_run,
        lambda: plan_parabank(None, options.folder, options.name, options.version, options.changes),
    )
    print(address or "dry run: nothing was sent")
