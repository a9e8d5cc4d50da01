"""The way of a table to a release, and what stays inside."""

from __future__ import annotations

from pathlib import Path

from style import BLUE, GREEN, GREY, RED, arrow, box, frame, save, sheet


def draw(path: Path) -> None:
    """Draw it into an SVG file."""
    figure, axes = sheet(9.0, 3.7)
    frame(axes, 0.15, 1.3, 6.0, 2.25, RED)
    axes.text(0.35, 3.27, "stays inside", color=GREY, fontsize=12, weight="bold", va="center")
    box(axes, 0.4, 1.6, 1.5, 1.35, "your table\n\none row\nfor each person", RED)
    box(axes, 2.4, 1.6, 1.5, 1.35, "a number for\neach support:\nhow well it\nexplains", RED)
    box(axes, 4.4, 1.6, 1.5, 1.35, "one draw,\ngood supports\nmore often", RED)
    arrow(axes, (1.9, 2.27), (2.4, 2.27))
    arrow(axes, (3.9, 2.27), (4.4, 2.27))
    arrow(axes, (5.9, 2.27), (6.75, 2.27), GREEN)
    box(axes, 6.75, 1.6, 2.0, 1.35, "release\n\nage, ward, crp\nε = 1", GREEN)
    axes.text(7.75, 3.27, "may leave", color=GREY, fontsize=12, weight="bold", ha="center",
              va="center")  # fmt: skip
    box(axes, 0.4, 0.2, 3.5, 0.75, "schema: types, categories,\nranges; from a codebook", BLUE)
    box(axes, 4.4, 0.2, 1.5, 0.75, "ledger:\npays ε first", BLUE)
    arrow(axes, (2.15, 0.95), (2.15, 1.58), BLUE)
    arrow(axes, (5.15, 0.95), (5.15, 1.58), BLUE)
    axes.text(6.75, 0.575, "public: known without\na look at the rows", color=GREY, fontsize=11,
              va="center")  # fmt: skip
    axes.plot([6.05, 6.6], [0.575, 0.575], color=GREY, lw=1.2, ls=":")
    save(figure, path)
