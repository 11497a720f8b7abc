"""`parabank paraphrase`: documents of each kind, what is unchanged, and bad input."""

import re

import pytest

from builders.command_line import main
from tests.chat_server import MODEL, chat_server

MARKDOWN = """---
title: A short guide
---
# A short guide

She closed the **old door** and walked away. Costs are \\$5.

- We wrote to https://example.org/a today.

```sh
echo "He was very tired."
```
"""
HTML = "<p>She closed the <b>old door</b> and left.</p>\r\n<pre>He was very tired.</pre>\r\n<p>They are here.</p>"
PLAIN = "She closed the door.\r\n\r\n  The children are here.\r\n"


@pytest.fixture
def server():
    with chat_server() as local_server:
        yield local_server


def run(server, folder, name, content, *flags):
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return main(["paraphrase", "--input", str(folder / name), "--output", str(folder / f"new-{name}"), "--paraphraser",
                 "lm", "--model", MODEL, "--server", server.url, *flags])  # fmt: skip


def output_text(folder, name):
    return (folder / f"new-{name}").read_bytes().decode()


def test_markdown_and_the_list_of_what_is_unchanged(server, tmp_path, capsys):
    assert run(server, tmp_path, "a.md", MARKDOWN, "--unchanged", str(tmp_path / "kept.tsv")) == 0
    new = output_text(tmp_path, "a.md")
    assert re.search(r"\w+, .*[Ss]he closed the \*\*old door\*\* and walked away\. Costs are \\\$5\.\n", new)
    assert new.count("https://example.org/a") == 1 and "\n- " in new and new.startswith("---\ntitle: A short guide\n")
    assert new.endswith('\n```sh\necho "He was very tired."\n```\n')
    rows = [line.split("\t") for line in (tmp_path / "kept.tsv").read_text().splitlines()]
    assert ["markup", "Costs are \\$5."] in rows
    message = capsys.readouterr().err
    assert f"{4 - len(rows)} of 4 sentences in other words" in message
    assert "unchanged: marks stand in it that cannot be set again" in message


def test_html_and_plain_text_keep_their_line_ends_and_tags(server, tmp_path):
    assert run(server, tmp_path, "a.html", HTML) == 0
    new = output_text(tmp_path, "a.html")
    assert new != HTML and re.fullmatch(
        r"<p>.*<b>old door</b>.*</p>\r\n<pre>He was very tired\.</pre>\r\n<p>.+</p>", new
    )
    assert run(server, tmp_path, "a.txt", PLAIN) == 0
    new = output_text(tmp_path, "a.txt")
    assert new != PLAIN and re.fullmatch(r"[^\r\n]+\r\n\r\n  [^\r\n]+\r\n", new)
    assert run(server, tmp_path, "b.txt", HTML, "--kind", "html") == 0
    assert output_text(tmp_path, "b.txt") == output_text(tmp_path, "a.html")


def test_without_protection_and_with_a_pattern(server, tmp_path):
    text = "We wrote to https://example.org/a about ART.77 today.\n"
    for number, (flags, expected) in enumerate(
        (
            (["--protect", "none"], []),
            (["--protect", "none", "--protect_patterns", r"ART\.\d+"], ["ART.77"]),
            ([], ["https://example.org/a"]),
        )
    ):
        server.asked.clear()
        assert run(server, tmp_path, f"{number}.txt", text, *flags) == 0
        content = server.asked[-1]["messages"][-1]["content"]
        assert [piece for piece in ("https://example.org/a", "ART.77") if f'"{piece}"' in content] == expected, content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "wanted a document with a sentence, got none in "),
        (b" \n\n---\n", "wanted a document with a sentence, got none in "),
        (b"It is late.\xff\xfe", "wanted a document in UTF-8, got "),
        (b"\x7fELF\0\0ab c", "which has a NUL character: it is no text"),
        (None, "No such file"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(server, tmp_path, capsys, content, message):
    if content is None:
        flags = ["--input", str(tmp_path / "lost.md")]
        assert run(server, tmp_path, "a.md", "It is late.", *flags) == 1
    else:
        assert run(server, tmp_path, "a.md", content) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and message in lines[0], lines
    assert not (tmp_path / "new-a.md").exists() and not server.asked


def test_a_folder_another_output_and_bad_patterns(server, tmp_path, capsys):
    assert run(server, tmp_path, "a.md", "It is late.", "--input", str(tmp_path)) == 1
    assert "Is a directory" in capsys.readouterr().err.splitlines()[-1]
    assert run(server, tmp_path, "a.md", "It is late.", "--output", str(tmp_path / "a.md")) == 1
    assert (tmp_path / "a.md").read_text() == "It is late."
    for pattern, message in (("(", "wanted regular expressions as protect_patterns"), (r"\b", "which finds none")):
        with pytest.raises(SystemExit) as error:
            run(server, tmp_path, "a.md", "It is late.", "--protect_patterns", pattern)
        assert error.value.code == 2 and message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
def test_the_starter_writes_a_document(tmp_path, capsys):
    (tmp_path / "a.md").write_text(MARKDOWN)
    assert main(["paraphrase", "--input", str(tmp_path / "a.md"), "--output", str(tmp_path / "b.md"), "--paraphraser",
                 "starter/paraphraser"]) == 0  # fmt: skip
    assert (tmp_path / "b.md").read_text().endswith('\n```sh\necho "He was very tired."\n```\n')
    assert " of 4 sentences in other words" in capsys.readouterr().err
