"""What the site adds to the Markdown of docs/: code that was run, formulas, the reference, links out of it."""

from __future__ import annotations

import io
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

from blocks import BlockError, run_page
from driftbandits.policies import POLICIES
from facts import glance
from formulas import display, typeset
from reference import pages as reference_pages

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "https://github.com/driftbandits/driftbandits/blob/main/"
RUN = ("index.md", "tutorials/", "moving/", "cookbook.md", "faq.md", "experiments.md")
"""Pages whose code is run when the site is built."""
MATHEMATICS = (
    "policies/", "reference/", "theory.md", "proofs.md", "proofs-beyond.md", "proofs-neglect.md", "beyond-the-paper.md",
    "companion.md", "snoozeit.md", "sessions.md", "glossary.md", "league.md", "sweeps.md", "replay.md", "faq.md",
    "dashboard.md", "experiments.md", "interop.md", "architecture.md", "moving/",
)  # fmt: skip
"""Pages in which letters are formulas."""
WIDE = ("companion.md", "policies/README.md")
"""Pages of one wide table: it gets the room of the list of headings."""
LINK = re.compile(r"(\]\()((?:\.\./)+[^)\s#]+)")
INDENTED = re.compile(r"(?<=\n\n) {4}\S.*\n(?: {4,}\S.*\n)*(?=\n|\Z)")
CALL = re.compile(r"(?<=^```python\n)\w+\(.{70,}\)$", re.M)
PATH = re.compile(r"(?<=[a-z])/(?=[\w/]+\.py</td>|[\w/]+\.py, )")
PROGRAM = re.compile(r"(<pre.*?</pre>)", re.S)
OPTION = re.compile(r"(<code>|<code>[^<]* )(--?[\w-]+)")
FENCED = re.compile(r"(^```.*?^```\n)", re.M | re.S)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The menu: a folder's name stands for all its pages, and pages that it forgets come last."""
    docs = Path(config.docs_dir)
    names = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} | {name for name, _ in reference_pages()}
    listed: set[str] = set()
    nav = [_expanded(entry, names, listed) for entry in config.nav or []]
    if rest := sorted(names - listed):
        nav.append({"More": rest})
    config.nav = nav
    return config


def _expanded(entry: Any, names: set[str], listed: set[str]) -> Any:
    if isinstance(entry, str):
        if entry.endswith("/*"):
            raise PluginError(f"{entry} needs a title")
        listed.add(entry)
        return entry
    ((title, below),) = entry.items()
    if isinstance(below, list):
        return {title: [_expanded(each, names, listed) for each in below]}
    if not below.endswith("/*"):
        listed.add(below)
        return entry
    folder = below.removesuffix("*")
    found = [name for name in names if name.startswith(folder)]
    listed.update(found)
    first = [name for name in found if name.endswith(("/README.md", "/index.md"))]
    if folder == "reference/":  # in the order of the package's rooms
        found = [name for name, _ in reference_pages()]
    else:
        found.sort(key=str.lower)
    return {title: first + [name for name in found if name not in first]}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages of the reference."""
    for name, text in reference_pages():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Code is run, formulas on lines of their own are set, links out of docs/ lead to the repository."""
    name = page.file.src_uri
    if name in WIDE:
        page.meta["hide"] = ["toc"]
    if name.startswith(RUN):
        markdown = _run(markdown, name, config, files)
    if name.startswith("policies/"):
        markdown = CALL.sub(_folded, markdown, count=1)
        if (policy := Path(name).stem) in POLICIES:
            markdown = markdown.replace("\n```\n", f"\n```\n\n{glance(policy, markdown)}\n", 1)
    if name.startswith(MATHEMATICS):
        parts = FENCED.split(markdown)
        parts[::2] = [INDENTED.sub(_displayed, part) for part in parts[::2]]
        markdown = "".join(parts)
    return LINK.sub(lambda found: found[1] + _outside(name, found[2]), markdown)


def _outside(page: str, target: str) -> str:
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    if path.startswith("docs/"):  # a page that lies elsewhere too may name the folder
        return posixpath.relpath(path, posixpath.join("docs", posixpath.dirname(page)))
    if not (ROOT / path).exists():
        raise PluginError(f"{page} links to {target}, which does not exist")
    return SOURCE + path


def _folded(found: re.Match[str]) -> str:
    """A long call, one parameter a line."""
    name, _, given = found[0].removesuffix(")").partition("(")
    return f"{name}(\n" + "".join(f"    {each},\n" for each in given.split(", ")) + ")"


def _displayed(found: re.Match[str]) -> str:
    return "".join(display(line) + "\n" for line in found[0].splitlines())


def _run(markdown: str, name: str, config: MkDocsConfig, files: Files) -> str:
    stem = name.removesuffix(".md")
    count = 0

    def show(figure: Any) -> str:
        nonlocal count
        count += 1
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=160)
        uri = f"{stem}-{count}.png"
        files.append(File.generated(config, uri, content=picture.getvalue()))
        label = figure.get_label() or f"Figure {count} of this page, as the code above draws it"
        return f"\n![{label}]({posixpath.basename(uri)})\n"

    try:
        return run_page(markdown, show)
    except BlockError as error:
        raise PluginError(f"{name}: {error}") from None


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas within sentences; names of files and options are cut in two where that leaves them legible."""
    name = page.file.src_uri
    html = typeset(html) if name.startswith(MATHEMATICS) else html
    if name in WIDE:
        html = PATH.sub("/<wbr>", html)
    parts = PROGRAM.split(html)
    parts[::2] = [OPTION.sub(r'\1<span class="whole">\2</span>', part) for part in parts[::2]]
    return "".join(parts)
