"""Pictures: panels of lines with error bars, the same bytes every time. They need matplotlib."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mipselect.errors import InvalidInput

SUFFIXES = (".svg", ".png", ".pdf")
PANEL_INCHES = (4.4, 3.4)
LEGEND_INCHES = 1.9
LETTERS_PER_INCH = 11.5
TITLE_LETTERS_PER_INCH = 9.5
MOST_COLUMNS = 3
MOST_TICKS = 14
"""Most values of x that each have a tick and a marker."""

# Paul Tol's "muted" scheme, which colour-blind people can tell apart; markers say it again.
COLOURS = (
    *("#332288", "#88CCEE", "#117733", "#44AA99", "#882255"),
    *("#AA4499", "#CC6677", "#DDCC77", "#999933"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
STYLES = ("-", "-.", ":")
"""Styles of the first lines, and of those whose colours come again."""


@dataclass(frozen=True)
class Series:
    """A selector in a panel: points from left to right; an error of None has no bar."""

    name: str
    xs: tuple[float, ...]
    means: tuple[float, ...]
    errors: tuple[float | None, ...]


@dataclass(frozen=True)
class Picture:
    """Content of a figure.

    Attributes
    ----------
    title, x_label, y_label : str
        Labels with their units.
    panels : mapping of str to tuple of Series
        Lines of each pair of axes, by its title.
    names : tuple of str
        Names of all lines that there could be, in order; it fixes their colours.
    yardstick : str
        The name that is drawn grey and dashed.
    fraction : bool
        Whether y lies between 0 and 1.
    log_x, log_y : bool
    notes : tuple of str
        Stand below, in red if `alarming`.
    alarming : bool
    """

    title: str
    x_label: str
    y_label: str
    panels: Mapping[str, tuple[Series, ...]]
    names: tuple[str, ...]
    yardstick: str
    notes: tuple[str, ...]
    fraction: bool = False
    log_x: bool = False
    log_y: bool = False
    alarming: bool = False


def require_matplotlib() -> None:
    """Raise `InvalidInput`, saying what to install, if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ValueError as error:
        # It looks at its environment and its own files when it is loaded.
        raise InvalidInput(
            f"matplotlib cannot be loaded; is MPLBACKEND or matplotlibrc wrong? {error}"
        ) from error
    except ImportError as error:
        raise InvalidInput(
            "matplotlib is missing; install it with: pip install 'mipselect[plot]'"
        ) from error


def drawn(picture: Picture, suffix: str) -> bytes:
    """Return the figure as a file with this suffix, one of `SUFFIXES`, without its date."""
    import matplotlib as mpl
    from matplotlib import style
    from matplotlib.figure import Figure

    columns = min(len(picture.panels), MOST_COLUMNS)
    rows = math.ceil(len(picture.panels) / columns)
    width, height = PANEL_INCHES
    # Whatever the settings of the user.
    reproducible = {"svg.hashsalt": "mipselect", "svg.fonttype": "none"}
    with style.context("default"), mpl.rc_context(reproducible):
        wide = columns * width + LEGEND_INCHES
        letters = int(LETTERS_PER_INCH * wide)
        below = "\n".join(
            textwrap.fill(note, letters, break_on_hyphens=False) for note in picture.notes
        )
        high = rows * height + 0.2 * (below.count("\n") + 3)
        figure = Figure(figsize=(wide, high), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, (title, lines) in zip(grid.flat, picture.panels.items(), strict=False):
            _draw(axes, title, lines, picture)
        for axes in grid.flat[len(picture.panels) :]:
            axes.remove()
        # From the left, where the legend is not in its way.
        title = textwrap.fill(picture.title, int(TITLE_LETTERS_PER_INCH * columns * width))
        figure.suptitle(title, x=0.01, horizontalalignment="left")
        _legend(figure, grid.flat[: len(picture.panels)], picture.names)
        red = {"color": "#B00000", "weight": "bold"} if picture.alarming else {"color": "#444444"}
        figure.supxlabel(below, fontsize="small", **red)
        undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}[suffix]
        target = io.BytesIO()
        figure.savefig(target, format=suffix[1:], dpi=150, metadata=undated)
        return target.getvalue()


def _draw(axes: Any, title: str, lines: Sequence[Series], picture: Picture) -> None:
    for line in lines:
        number = picture.names.index(line.name)
        look = {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKERS[number % len(MARKERS)] if len(line.xs) <= MOST_TICKS else "",
            "linestyle": STYLES[number // len(COLOURS) % len(STYLES)],
        }
        if line.name == picture.yardstick:
            look = {"color": "#777777", "marker": "", "linestyle": "--"}
        errors = [0.0 if error is None else error for error in line.errors]
        axes.errorbar(line.xs, line.means, errors, label=line.name, capsize=3, markersize=5, **look)
    axes.set(title=title, xlabel=picture.x_label, ylabel=picture.y_label)
    if picture.log_x:
        axes.set_xscale("log")
    if picture.log_y:
        axes.set_yscale("log")
    if picture.fraction:
        axes.set_ylim(-0.03, 1.03)
    ticks = sorted({x for line in lines for x in line.xs})
    if len(ticks) <= MOST_TICKS:
        axes.set_xticks(ticks, labels=[f"{x:,g}" for x in ticks])
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axes.grid(alpha=0.3)


def _legend(figure: Any, grid: Any, names: Sequence[str]) -> None:
    """Draw one legend for all panels, in the order of `names`."""
    handles: dict[str, Any] = {}
    for axes in grid:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    known = sorted(handles, key=names.index)
    figure.legend(
        [handles[name] for name in known], known, loc="outside right upper", frameon=False
    )
