r"""Publish a packaged encoder, paraphraser or translator on the Hub as a version.

    parabank publish model build/my-paraphraser someone/my-paraphraser --version 1.0.0 --dry_run
    parabank publish model build/my-paraphraser someone/my-paraphraser --version 1.0.0

The folder is what parabank package encoder, paraphraser or translator made. All files come in
one commit, and the tag v1.0.0 last. After an interruption run the same command again: what the Hub has is not sent
again. The token is that of `hf auth login`, or HF_TOKEN; HF_ENDPOINT names another Hub, and one without Xet storage
needs HF_HUB_DISABLE_XET=1.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from toolkit.system.command import run_command
from toolkit.system.settings import Parser

PROGRAM = "parabank publish model"


def main(arguments: list[str]) -> int:
    """Parse the command line, publish; print an error as one line."""
    parser = Parser(prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder of the packaged model")
    parser.add_argument("name", metavar="OWNER/NAME", help="repository on the Hub; made if it does not exist")
    parser.add_argument("--version", required=True, help="MAJOR.MINOR.PATCH")
    parser.add_argument("--public", action="store_true", help="let everybody see a repository that is made now")
    parser.add_argument("--dry_run", action="store_true", help="list the files and their bytes; change nothing")
    options = parser.parse_args(arguments)
    return run_command(PROGRAM, lambda: _work(options), resumes=True)


def _work(options: argparse.Namespace) -> None:
    """Publish, and print what is sent and where it is."""
    # Imported here because it loads the Hub's library, which --help does not need.
    from huggingface_hub import HfApi

    from toolkit.publish.hub import publish
    from toolkit.publish.model import plan_model

    api = HfApi()
    address = publish(
        api,
        options.name,
        lambda: plan_model(api, options.folder, options.name, options.version),
        options.public,
        options.dry_run,
        lambda: plan_model(None, options.folder, options.name, options.version),
    )
    print(address or "dry run: nothing was sent")
