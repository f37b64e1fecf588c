"""docs/companion.md: every statement of the paper, without what only runs can say. ``python -m`` this FILE."""

import sys
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reproduction.report.page import TEMPLATES
from reproduction.statements import load


def companion_page() -> str:
    """The page, in Markdown."""
    here = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True)
    here.filters["cell"] = lambda text: text.replace("|", "\\|").replace("*_", "\\*\\_")
    return here.get_template("companion.md").render(statements=load()) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(companion_page(), encoding="utf-8")
