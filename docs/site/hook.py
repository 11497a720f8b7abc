"""A hook of mkdocs: links to files of the repository outside docs/ lead to a page with the file.

On the disk a link such as `../../PAPERS.md` leads to the file. The site has only docs/, so this hook adds a page for
every file that is linked: Markdown as it is, other text in a block of code, a folder as a list of its files.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`|^ {4}[^\n]*)", re.DOTALL | re.MULTILINE)
FOLDER = "repository"  # of the site, for the added pages
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


def on_config(config: Any) -> Any:
    """Make the anchors of headings as sites that show repositories do, so that a link to one works in both."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add a page for every file outside docs/ that a page links to, and for what these pages link to."""
    pages = [(f"docs/{file.src_uri}", Path(file.abs_src_path)) for file in files.documentation_pages()]
    while pages:
        path, source = pages.pop()
        for target in outside(path, source.read_text(encoding="utf-8")):
            uri = uri_of(target)
            if files.get_file_from_path(uri) is None:
                page = File.generated(config, uri, content=content_of(target), inclusion=InclusionLevel.NOT_IN_NAV)
                files.append(page)
                if target.endswith(".md"):
                    pages.append((target, ROOT / target))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite the links of a page that lead out of docs/, and all links of an added page."""
    uri = page.file.src_uri
    path = path_of(uri)

    def relinked(match: re.Match[str]) -> str:
        target = resolved(path, match[2])
        if target is None:
            return match[0]
        return f"{match[1]}{os.path.relpath(uri_of(target), PurePosixPath(uri).parent)}{match[3]}"

    parts = CODE.split(markdown)
    return "".join(part if n % 2 else LINK.sub(relinked, part) for n, part in enumerate(parts))


def outside(path: str, text: str) -> list[str]:
    """The files outside docs/ that a page of the repository links to."""
    targets = (resolved(path, match[1]) for part in CODE.split(text)[::2] for match in LINK.findall(part))
    return sorted({target for target in targets if target is not None and not target.startswith("docs/")})


def resolved(path: str, link: str) -> str | None:
    """The path in the repository that a link leads to; None for an address, or for what is not there."""
    if "://" in link or link.startswith("mailto:"):
        return None
    target = os.path.normpath(os.path.join(os.path.dirname(path), link))
    return target if (ROOT / target).exists() else None


def uri_of(path: str) -> str:
    """Where a file of the repository is in the site."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{FOLDER}/{path}" if path.endswith(".md") else f"{FOLDER}/{path}.md"


def path_of(uri: str) -> str:
    """The file of the repository that a page of the site shows."""
    return uri.removeprefix(f"{FOLDER}/") if uri.startswith(f"{FOLDER}/") else f"docs/{uri}"


def content_of(path: str) -> str:
    """The page of a file or of a folder."""
    file = ROOT / path
    if file.is_dir():
        return f"# {path}\n\n" + "".join(f"- `{below.name}`\n" for below in sorted(file.iterdir()))
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    return f"# {path}\n\n````{LANGUAGES.get(file.suffix, 'text')}\n{text}\n````\n"
