"""`--help` answers at once: it shows every setting, and imports none of the libraries that take seconds."""

import json
import re
import subprocess
import sys

import pytest

from tests.tiny import ENVIRONMENT, ROOT

SLOW = ("torch", "transformers", "sentence_transformers", "datasets", "accelerate")
BROKEN = re.compile(r"\{\}|\binf\b|default \)|default \[|\(-- |--[,;)]|^\w.*\\$", re.MULTILINE)  # notes and examples
BUILDERS = ("parabank2", "parabank", "paranmt", "parazh", "paranet")
COMMANDS = [[path.name] for path in sorted((ROOT / "scripts").glob("*.py"))]
COMMANDS += [["build_parabank.py", name] for name in BUILDERS] + [["build_parabank.py", "parabank2", "--text", "x"]]
# Runs the commands one after the other in one process, on a terminal without "é", and prints what each brought along
# and said.
PROGRAM = """
import contextlib, importlib, io, json, sys
found = {}
for script, *arguments in json.loads(sys.argv[1]):
    main = importlib.import_module("builders.commands." + script.removesuffix(".py")).main
    screen = io.TextIOWrapper(raw := io.BytesIO(), encoding="cp932", write_through=True)
    with contextlib.redirect_stdout(screen):
        try:
            status = main([*arguments, "--help"])
        except SystemExit as exit_:
            status = exit_.code
    slow = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
    found[" ".join([script, *arguments])] = [status, slow, raw.getvalue().decode("cp932")]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_help_imports_nothing_slow():
    command = [sys.executable, "-c", PROGRAM, json.dumps(COMMANDS), json.dumps(SLOW)]
    process = subprocess.run(command, env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    assert len(results) == len(COMMANDS) > 13
    assert {name: (status, slow) for name, (status, slow, _) in results.items() if status or slow} == {}
    assert all("--" in text for _, _, text in results.values())
    assert {name: broken for name, (_, _, text) in results.items() if (broken := BROKEN.findall(text))} == {}
