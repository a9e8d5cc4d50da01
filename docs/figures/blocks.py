"""Blocks of rows: each votes for supports, and one row is in one block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.patches import Rectangle
from style import BLUE, GREEN, GREY, RED, arrow, frame, save, sheet

VOTES = ((0.9, 0.4, 0.2), (0.7, 0.8, 0.1), (1.0, 0.5, 0.4), (0.8, 0.3, 0.3))
"""Shares of three supports in each block, made up for the picture."""
CHANGED = 2
"""The block of the row that is replaced."""
ORDER = (2, 0, 3, 1, 1, 3, 0, 2, 3, 1, 2, 0)
"""The block of each row."""


def draw(path: Path) -> None:
    """Draw it into an SVG file."""
    figure, axes = sheet(8.8, 3.9)
    axes.text(0.9, 3.68, "rows at random", ha="center", va="center")
    axes.text(4.1, 3.68, "each block votes by itself", ha="center", va="center")
    axes.text(7.5, 3.68, "the score is the sum", ha="center", va="center")
    for row, block in enumerate(ORDER):
        y = 3.2 - 0.26 * row
        replaced = row == 0
        axes.add_patch(Rectangle((0.35, y), 1.1, 0.19, fc=RED if replaced else BLUE, ec="none"))
        text = f"block {block + 1}" + (": replaced" if replaced else "")
        axes.text(0.9, y + 0.095, text, color="white", fontsize=8, ha="center", va="center")
    arrow(axes, (1.65, 1.9), (2.25, 1.9))
    for block, shares in enumerate(VOTES):
        x, y = 2.4 + 1.8 * (block % 2), 2.1 - 1.6 * (block // 2)
        frame(axes, x, y, 1.6, 1.35, RED if block == CHANGED else GREY)
        _bars(axes, x + 0.2, y + 0.3, shares, 0.8, hatch=block == CHANGED)
        axes.text(x + 0.8, y + 0.15, f"block {block + 1}", fontsize=9, ha="center", va="center")
    arrow(axes, (5.95, 1.9), (6.55, 1.9))
    total = [sum(votes[k] for votes in VOTES) for k in range(3)]
    _bars(axes, 6.9, 0.75, total, 0.68, hatch=False)
    for k, word in enumerate(("A", "B", "C")):
        axes.text(6.9 + 0.4 * k + 0.15, 0.6, word, ha="center", va="center", fontsize=10)
    axes.text(7.5, 0.25, "supports; moved by at most 1", ha="center", va="center", fontsize=9)
    save(figure, path)


def _bars(axes: Any, x: float, y: float, shares: Any, unit: float, hatch: bool) -> None:
    for k, share in enumerate(shares):
        axes.add_patch(
            Rectangle(
                (x + 0.4 * k, y), 0.3, unit * share, fc=RED if hatch else GREEN,
                ec="white" if hatch else "none", hatch="//" if hatch else None,
            )
        )  # fmt: skip
