"""The other libraries' side of docs/moving, run again: ``python benchmarks/moving.py river .peers/bin/python``.

``make bench-peers`` makes that environment, with river and MABWiser, and runs both. SMPyBandits 0.9.7 can't be imported
beside their numpy: ``pip install -r benchmarks/smpybandits-requirements.txt`` makes an environment of its own for it.

Prints what the page's program answers with that interpreter, and whether the page says the same; ``--write`` puts it
into the page. The interpreter must have the library in the version that the page names.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "docs" / "moving"
PROGRAM = re.compile(r"^```python \w+_side\.py\n(.*?)^```\n", re.M | re.S)
ANSWER = re.compile(r"(^```text\n)(.*?)(^```\n)", re.M | re.S)


def main() -> int:
    """Run one page's program, and compare."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("library", choices=sorted(path.stem for path in PAGES.glob("*.md")))
    options.add_argument("python", help="an interpreter that has the library")
    options.add_argument("--write", action="store_true", help="put the answer into the page")
    given = options.parse_args()
    page = PAGES / f"{given.library}.md"
    text = page.read_text(encoding="utf-8")
    (program,), ((_, said, _),) = PROGRAM.findall(text), ANSWER.findall(text)
    done = subprocess.run([given.python, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        return 1
    answer = "".join(
        line + "\n" for line in done.stdout.splitlines() if re.search(r"\d", line) and "arning" not in line
    )
    print(answer, end="")
    if given.write:
        page.write_text(ANSWER.sub(lambda found: found[1] + answer + found[3], text), encoding="utf-8")
    elif answer != said:
        print(f"{page.name} says something else", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
