"""What the site of the documentation needs beside mkdocs: examples without directives, and colours that can be read."""

import importlib.util
import re
from types import SimpleNamespace

import pytest

from tests.pages import CONTRAST
from tests.tiny import ROOT


def test_examples_have_no_directives_of_doctest():
    pytest.importorskip("griffe")
    spec = importlib.util.spec_from_file_location("doctests", ROOT / "docs" / "site" / "doctests.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    docstring = SimpleNamespace(value="One.\n\n>>> one()      # doctest: +SKIP\n1\n\nMore.")
    module.Doctests().on_instance(obj=SimpleNamespace(docstring=docstring))
    assert docstring.value == "One.\n\n```pycon\n>>> one()\n1\n```\n\nMore."


def luminance(colour):
    """The relative luminance of a colour such as "#00796b" (WCAG 2.2)."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_links_and_the_header_can_be_read():
    style = (ROOT / "docs" / "site" / "site.css").read_text()
    for ground in ("#ffffff", "#f5f5f5"):  # of a page, and of code
        for colour in re.findall(r"--md-(?:primary|accent)-fg-color: (#\w+);", style):
            assert (luminance(ground) + 0.05) / (luminance(colour) + 0.05) >= CONTRAST, (colour, ground)
