"""Compare the lines of every package with its budget in pyproject.toml: see `make lint`.

Counted are lines of Python, JavaScript, styles and templates, docstrings included. A budget only
falls; an issue that adds to one names it.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
COUNTED = (".py", ".pyi", ".js", ".css", ".html", ".jinja", ".md.jinja")


def lines_by_package() -> Counter[str]:
    """Count the lines of `mipselect.NAME`, of the files beside them, and of other folders."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    counted: Counter[str] = Counter()
    for name in listed.stdout.splitlines():
        path = Path(name)
        if path.suffix not in COUNTED or not (ROOT / path).is_file():
            continue
        folder, *inside = path.parts
        if folder == "mipselect":
            folder = inside[0] if len(inside) > 1 else "top"
        counted[folder] += len((ROOT / path).read_text(encoding="utf-8").splitlines())
    return counted


def main() -> int:
    """Print what is over its budget, and return how much is."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        budgets = tomllib.load(file)["tool"]["mipselect"]["lines"]
    found = lines_by_package()
    wrong = [
        f"{name}: {found[name]:,} lines, and pyproject.toml allows {budgets.get(name, 0):,}"
        for name in sorted(found)
        if found[name] > budgets.get(name, 0)
    ]
    print("\n".join(wrong), end="\n" if wrong else "")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
