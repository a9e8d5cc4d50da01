"""Draw every figure of this manual again: `make docs` runs this."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in {"draw", "style"})
"""One module for each figure; its function `draw` takes the path of an SVG file."""


def draw_all(folder: Path) -> None:
    """Draw them into a folder."""
    for name in NAMES:
        import_module(name).draw(folder / f"{name.replace('_', '-')}.svg")


if __name__ == "__main__":
    draw_all(HERE)
