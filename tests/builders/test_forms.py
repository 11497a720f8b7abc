"""A zip archive of OPUS is built as its two files are, in two processes; another archive is noticed."""

import subprocess

import pytest

from builders.paranmt import ParaNMTRun, build
from tests.bitext.test_forms import archive
from tests.tiny import ENVIRONMENT, PYTHON, ROOT, folder, pairs

FLAGS = {"limit": 24, "shard_rows": 6, "threads": 1, "dtype": "float32", "beam": 3, "batch_rows": 30, "lang": "en"}


def shards(output):
    return {path.name: path.read_bytes() for path in output.with_name("bank.shards").glob("rows-*.parquet")}


@pytest.mark.slow
@pytest.mark.usefixtures("on_a_cpu")
def test_a_zip_archive_makes_the_same_shards_as_its_two_files(tmp_path):
    sides = {
        f"demo.de-en.{lang}": "".join(f"{pair[number]}\n" for pair in pairs(30)).encode()
        for number, lang in enumerate(("de", "en"))
    }
    for name, content in sides.items():
        (tmp_path / name).write_bytes(content)
    flags = FLAGS | {"forward": str(folder() / "de-en")}
    aligned = [str(tmp_path / name) for name in sides]
    build(ParaNMTRun(bitext=aligned, source_lang="de", output_dir=str(tmp_path / "one" / "bank"), **flags))
    path = archive(tmp_path / "demo.zip", {"LICENSE": b"CC-BY"} | sides)

    def launch():
        options = flags | {"bitext": path, "source_lang": "deu", "output_dir": str(tmp_path / "two" / "bank")}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        command = [PYTHON, "-m", "builders", "build", "paranmt", *words, "--processes", "2"]
        return subprocess.run(command, env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, timeout=300)

    process = launch()
    assert process.returncode == 0, process.stderr
    expected = shards(tmp_path / "one" / "bank")
    assert len(expected) == 4 and shards(tmp_path / "two" / "bank") == expected
    archive(path, {"LICENSE": b"CC-BY"} | sides | {"demo.de-en.de": sides["demo.de-en.de"].replace(b"ich", b"du")})
    process = launch()
    assert process.returncode == 1 and "content of bitext was" in process.stderr  # of either process
