"""Share of the way to the best support, by ε: the table of which-selector.md, drawn."""

from __future__ import annotations

from pathlib import Path

from style import GREY, LINES, plt, rows_of, save

PAGE, HEADING = "which-selector.md", "| ε | 0.05"
SHOWN = {
    "the default of `select`": "default of select",
    "`KendallSelector`": "rank correlations (kendall)",
    "a loss on public ranges": "a loss on public ranges",
    "`SISSelector`": "correlations (sis)",
}
"""Lines of the table that are drawn, by how they begin, and what they are called."""


def found(name: str) -> tuple[list[float], list[float]]:
    """Return ε, and what is found at each, of the row that begins with a name."""
    heading, *rows = rows_of(PAGE, HEADING)
    (row,) = (row for row in rows if row[0].startswith(name))
    return [float(cell) for cell in heading[1:]], [float(cell) for cell in row[1:]]


def draw(path: Path) -> None:
    """Draw it into an SVG file."""
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for (name, label), (colour, mark) in zip(SHOWN.items(), LINES, strict=False):
        epsilons, values = found(name)
        axes.plot(epsilons, values, color=colour, marker=mark, lw=2, ms=7)
        axes.annotate(
            label, (epsilons[-1], values[-1]), xytext=(8, 0), textcoords="offset points",
            va="center", color=GREY,
        )  # fmt: skip
    axes.axhline(1, color=GREY, lw=1, ls=":")
    axes.axhline(0, color=GREY, lw=1, ls=":")
    axes.text(11.5, 1.02, "the best support", va="bottom", ha="right")
    axes.text(11.5, 0.02, "a uniform draw", va="bottom", ha="right")
    axes.set(xscale="log", xlabel="ε", ylabel="what a draw finds", ylim=(-0.03, 1.12))
    axes.set_xlim(0.045, 12)
    axes.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
    axes.minorticks_off()
    save(figure, path)
