"""Questions that lead to a method, with what it finds by the table of which-selector.md."""

from __future__ import annotations

from pathlib import Path

from found_by_epsilon import found
from style import BLUE, GREEN, arrow, box, save, sheet

AT = (0.1, 1.0)
QUESTIONS = (
    ("Scores of items,\nand no table?", "NoisyMax, CanonicalLipschitz", "mipselect.mechanisms", ""),
    ("Two classes beside\ncategories, or\nanother loss?", "permute-and-flip on a loss",
     "needs public ranges",
     "a loss on public ranges"),
    ("Is the number of\nrows private too?", "kendall, by ranks", "--relation add-remove",
     "`KendallSelector`"),
    ("Does the ledger\ncount ρ?", "exponential, R² within blocks", "select takes it by itself",
     "R² within blocks on all"),
)  # fmt: skip
DEFAULT = ("permute-and-flip, R² within blocks", "the default of select", "the default of `select`")


def figures(row: str) -> str:
    """Return what a method finds at each ε of `AT`, in words; "" without a row."""
    if not row:
        return ""
    by_epsilon = dict(zip(*found(row), strict=True))
    return "finds " + ", ".join(f"{by_epsilon[at]:.2f} at ε = {at:g}" for at in AT)


def draw(path: Path) -> None:
    """Draw it into an SVG file."""
    step, height = 1.15, 0.85
    top = step * len(QUESTIONS) + 0.2
    figure, axes = sheet(8.6, top + height + 0.05)
    for k, (question, method, remark, row) in enumerate(QUESTIONS):
        y = top - step * k
        box(axes, 0.1, y, 2.4, height, question, BLUE)
        arrow(axes, (2.5, y + height / 2), (3.4, y + height / 2))
        axes.text(2.95, y + height / 2 + 0.08, "yes", ha="center", va="bottom")
        arrow(axes, (1.3, y), (1.3, y - step + height))
        axes.text(1.4, y - (step - height) / 2, "no", va="center")
        _answer(axes, 3.4, y, 5.1, (method, remark, figures(row)), height)
    method, remark, row = DEFAULT
    _answer(axes, 0.1, top - step * len(QUESTIONS), 8.4, (method, remark, figures(row)), height)
    save(figure, path)


def _answer(axes, x, y, width, words, height) -> None:  # type: ignore[no-untyped-def]
    method, *rest = words
    box(axes, x, y, width, height, "", GREEN)
    axes.text(x + width / 2, y + 0.58, method, color="white", ha="center", va="center",
              weight="bold")  # fmt: skip
    below = " · ".join(each for each in rest if each)
    axes.text(x + width / 2, y + 0.27, below, color="white", ha="center", va="center", fontsize=10)
