"""An extension of griffe: examples of docstrings that begin with >>> become blocks of code, without directives."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

DIRECTIVE = re.compile(r" *# doctest: .*")  # for a test, not for a reader
EXAMPLE = re.compile(r"(?:^|(?<=\n))>>> .*?(?=\n\s*\n|\Z)", re.DOTALL)


class Doctests(Extension):
    """Puts the examples of a docstring between fences."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            text = DIRECTIVE.sub("", obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", text)
