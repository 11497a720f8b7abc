"""Documents: what is no sentence stays byte for byte."""

import pytest

from tests.tiny import folder
from toolkit.data.rows import Candidate
from toolkit.paraphraser import document as module
from toolkit.paraphraser._markdown import markdown_runs
from toolkit.paraphraser.document import document_sentences, kind_of, paraphrased
from toolkit.paraphraser.paraphraser import Paraphraser
from toolkit.paraphraser.settings import Paraphrasing

MARKDOWN = """---
title: She closed the door.
---

# How to *install* the tool ##

Please read the **whole page** before you begin. The code is on [our site](https://example.org/x "t"), as we said.
This line is *not* the last one, and it costs \\$5.  
Run `make all` before you start.\tIt takes long.

> I think that he is very happy
> today. The children are here.

- [ ] She closed the door.
* We bought a **new car**
  last week.
  1. 1 is the first.

| What he said | Why |
|:---|---:|
| He was very tired. | She `ran` away. | 

```py
print("She closed the door.")
```

    She closed the door.

**Note:** She closed the door & left. **The children are here. He was very tired.** ![a b](c.png)
He saw <b>the man</b> there.<br>It was late.

Set like
a title
===

<div>He was very tired.</div>

[our]: https://example.org
See [^1] and [our] here.

[^1]: The note is short.
"""
HTML = """<!doctype html>
<html><head><title>My page</title><style>p > a {}</style></head>
<body class="x"><h1>The children are here.</h1>
<p>Please read the <b>whole page</b> before you begin. Tom &amp; Mary closed the door&nbsp;today.<br>
He was <code>very()</code> tired. <!-- no text --> <a href="http://x.org/?a=1&b=2">She is happy.</a></p>
<ul><li>We bought a car.<li>I think that he left.</ul><img alt="He was tired." src=a>
<pre>He was very tired.</pre><script>if (a < b) { "He was tired." }</script></p>&unknown; word<
</body></html>
"""
PLAIN = "  One came here. Two  left.\r\n\r\nThree\u00a0stayed,\nas we know.\n\n* * *\n\n  - Four slept\n"
DOCUMENTS = {"markdown": MARKDOWN, "html": HTML, "plain": PLAIN}
NESTED = """> - She closed **the *old* door** and left.
>   1. Here is [a **page**](https://example.org/a_(b)) of ours.
>
>      ```py
>      print("He was very tired.")
>      ```
>
> | a | b |
> |---|---|
> | We left \\| late. | He ran `x \\| y` there. |

1. The list begins here.

   ~~~
   He was very tired.
   ~~~

   It goes on there.
<!-- He was very tired. -->
* * *
+ She is [here][ref] today, ***very*** happy, ~~not~~ so \\* sad.

[ref]: <https://example.org/x y> "He was very tired."
"""
VARIANTS = [
    ("markdown", MARKDOWN.replace("\n", "\r\n")),
    ("markdown", MARKDOWN.replace("\n", "\r")),
    ("markdown", "\ufeff" + MARKDOWN.replace("\n", "\r\n")),
    ("markdown", NESTED),
    ("markdown", NESTED.replace("\n", "\r\n")),
    ("markdown", "\ufeff# He left the house\n\nShe stayed there."),
    ("html", HTML.replace("\n", "\r\n")),
    ("html", "\ufeff<p>He left.<p>She stayed.<script>if (a<b) {'He left.'}</script><div>They came.</div>"),
    (
        "html",
        "<p>One <b>two <i>three</b> four</i> came.</p><pre>He\n left.</pre><p>They < came > & left.</p> Two left.",
    ),
    ("plain", "\ufeff" + PLAIN),
]


def skeleton(text, sentences):
    """A document without its sentences."""
    parts, place = [], 0
    for sentence in sentences:
        assert sentence.begin >= place
        parts.append(text[place : sentence.begin])
        place = sentence.end
    return [*parts, text[place:]]


def words_around(sentence):
    """A paraphrase that keeps the marks of a sentence, and no other."""
    marks = [piece.text for piece in sentence.pieces]
    return " ".join(["Somebody said so", *marks, "again."])


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("every", [1, 2, 3])
def test_what_is_no_sentence_stays_byte_for_byte(kind, every):
    text = DOCUMENTS[kind]
    sentences = document_sentences(text, kind, "en")
    readable = [sentence for sentence in sentences if sentence.is_readable]
    candidates = [[Candidate(words_around(sentence), "beam", rank=0)] if n % every == 0 else []
                  for n, sentence in enumerate(readable)]  # fmt: skip
    document = paraphrased(text, kind, "en", sentences, candidates, 1)
    assert document.sentences == len(sentences) > 2
    changed = {sentence.begin for sentence, alternatives in zip(readable, candidates, strict=True) if alternatives}
    assert len(document.unchanged) == len(sentences) - len(changed)
    expected, place = "", 0
    for sentence in sentences:
        expected += text[place : sentence.begin]
        expected += words_around(sentence) if sentence.begin in changed else text[sentence.begin : sentence.end]
        place = sentence.end
    assert document.texts == [expected + text[place:]]
    assert (
        skeleton(document.texts[0], document_sentences(document.texts[0], kind, "en"))[0]
        == skeleton(text, sentences)[0]
    )


@pytest.mark.parametrize(("kind", "text"), VARIANTS)
@pytest.mark.parametrize("every", [1, 2])
def test_line_ends_byte_order_marks_and_nested_blocks(kind, text, every):
    sentences = document_sentences(text, kind, "en")
    readable = [sentence for sentence in sentences if sentence.is_readable]
    assert len(readable) > 1 and not any("\ufeff" in sentence.text for sentence in sentences)
    assert not any("very tired" in sentence.text for sentence in sentences if "print" in text and text is NESTED)
    candidates = [[Candidate(words_around(sentence), "beam", rank=0)] if n % every == 0 else []
                  for n, sentence in enumerate(readable)]  # fmt: skip
    document = paraphrased(text, kind, "en", sentences, candidates, 1)
    output = document.texts[0]
    unchanged_sentences = {sentence for sentence, _ in document.unchanged}
    assert output != text and len(unchanged_sentences) < len(sentences)
    place = 0
    for part in skeleton(text, sentences):
        place = output.find(part, place)
        assert place >= 0, part
        place += len(part)
    assert all(sentence in output or "\r" in text for sentence in unchanged_sentences)
    if kind == "markdown":
        assert markdown_runs(output)[1] == markdown_runs(text)[1]
    assert output.count("\r") >= sum(part.count("\r") for part in skeleton(text, sentences))


def test_a_document_of_windows_has_the_sentences_of_another():
    for text in (MARKDOWN, NESTED):
        texts = [sentence.text for sentence in document_sentences(text, "markdown", "en")]
        for line_end in ("\r\n", "\r"):
            variant = text.replace("\n", line_end)
            sentences = document_sentences(variant, "markdown", "en")
            assert [sentence.text for sentence in sentences] == texts
            assert all(
                " ".join(variant[sentence.begin : sentence.end].replace("> ", "").split())
                == " ".join(sentence.text.replace("> ", "").split())
                for sentence in sentences
            )


def test_sentences_of_markdown():
    sentences = {s.text: s for s in document_sentences(MARKDOWN, "markdown", "en")}
    assert sentences["Please read the **whole page** before you begin."].pieces[0].wrap == ("**", "**")
    assert sentences["I think that he is very happy\ntoday."].is_readable
    assert not sentences["This line is *not* the last one, and it costs \\$5."].is_readable
    assert {"He was very tired.", "She `ran` away.", "1 is the first.", "Set like\na title", "It was late.",
            "The note is short.", "The children are here.", "How to *install* the tool"} <= set(sentences)  # fmt: skip
    assert sentences["**Note:** She closed the door & left."].pieces[0].reading == "Note:"
    assert not any("print" in text or text.startswith("title") or "<div>" in text for text in sentences)


def test_sentences_of_html():
    texts = [s.text for s in document_sentences(HTML, "html", "en")]
    assert (
        "Tom & Mary closed the door\u00a0today." in texts and "She is happy." in texts and "We bought a car." in texts
    )
    assert not any("a {}" in text or "a < b" in text or "very tired" in text for text in texts)


@pytest.mark.parametrize("tag", ["<img src='a.png' />", "<wbr/>", "<input/>", "<i class='x'/>", "<code/>", "<br/>"])
def test_a_tag_that_closes_itself_is_read_once(tag):
    text = f"<p>Press {tag} to go on.</p>"
    sentences = document_sentences(text, "html", "en")
    assert "".join(sentence.text for sentence in sentences).count("<") == (0 if tag == "<br/>" else 1)
    document = paraphrased(text, "html", "en", sentences, [[] for _ in sentences], 1)
    assert document.texts == [text]


def test_what_would_be_a_mark_leaves_its_sentence_as_it_is():
    text = "One came here.\n\nTwo left us.\n"
    sentences = document_sentences(text, "markdown", "en")
    candidates = [[Candidate("# One came", "beam", rank=0)], [Candidate("Two went *away* now.", "beam", rank=0)]]
    document = paraphrased(text, "markdown", "en", sentences, candidates, 1)
    assert document.texts == [text] and [reason for _, reason in document.unchanged] == ["markup", "markup"]
    text = "<p>One came here.</p>"
    sentences = document_sentences(text, "html", "en")
    document = paraphrased(text, "html", "en", sentences, [[Candidate("a < b & <i>c</i>", "beam", rank=0)]], 1)
    assert document.texts == ["<p>a &lt; b &amp; &lt;i&gt;c&lt;/i&gt;</p>"]


def test_the_sentence_that_would_change_marks_is_found_in_few_readings_of_the_document(monkeypatch):
    text = "".join(f"Paragraph {n} is here.\n\n" for n in range(256))
    sentences = document_sentences(text, "markdown", "en")
    candidates = [[Candidate(f"Here is {n}." if n != 77 else "# Here", "beam", rank=0)] for n in range(256)]
    readings, runs_of = [], module._runs
    monkeypatch.setattr(module, "_runs", lambda *document: readings.append(1) or runs_of(*document))
    document = paraphrased(text, "markdown", "en", sentences, candidates, 1)
    assert document.unchanged == [("Paragraph 77 is here.", "markup")] and "Here is 78." in document.texts[0]
    assert len(readings) < 24


def test_reasons_name_what_was_lost():
    text = "One came here. Two left."
    sentences = document_sentences(text, "plain", "en")
    candidates = [[Candidate("x", "beam", reason="url_lost")], [Candidate("x", "beam", reason="rank")]]
    assert paraphrased(text, "plain", "en", sentences, candidates, 1).unchanged == [
        ("One came here.", "url_lost"),
        ("Two left.", "no_paraphrase"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_paraphraser_changes_sentences_alone(kind):
    settings = Paraphrasing(n=2, rank_by="dual", guards=(), min_semantic=None, pool=0, beam=4)
    paraphraser = Paraphraser(str(folder() / "de-en"), lang="en", settings=settings, dtype="float32")
    text = DOCUMENTS[kind]
    document = paraphraser.paraphrase_document(text, kind, n=2)
    sentences = document_sentences(text, kind, "en")
    assert document.sentences == len(sentences) > len(document.unchanged)
    for output in document.texts:
        assert output != text
        place = 0
        for part in skeleton(text, sentences):
            place = output.find(part, place)
            assert place >= 0, part
            place += len(part)
        assert output.endswith(skeleton(text, sentences)[-1])


def test_kinds():
    assert [kind_of(name) for name in ("a.MD", "b.htm", "c", "d.rst")] == ["markdown", "html", "plain", "plain"]
    paraphraser = Paraphraser.__new__(Paraphraser)
    with pytest.raises(ValueError, match="wanted a document of kind plain, markdown, html, got 'rst'"):
        paraphraser.paraphrase_document("a", "rst")


def test_html_may_leave_out_the_end_tag_of_its_head():
    page = "<!doctype html><html><head><title>My title is long.</title><body><p>The elevator is broken.</p>"
    for text in (page, page.replace("<body>", "")):
        assert [s.text for s in document_sentences(text, "html", "en")] == ["The elevator is broken."]
