"""Differences of fractions as colours, the same bytes every time. They need matplotlib."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class HeatMap:
    """Content of a figure.

    Attributes
    ----------
    title, x_label : str
    names : tuple of str
        One for every row, from above.
    rows : tuple of mapping of float to float
        From x to a number in [-1, 1].
    notes : tuple of str
        Stand below.
    """

    title: str
    x_label: str
    names: tuple[str, ...]
    rows: tuple[Mapping[float, float], ...]
    notes: tuple[str, ...]


def drawn_map(heat_map: HeatMap, suffix: str) -> bytes:
    """Return the figure as a file with this suffix, ".svg" or ".png", without its date."""
    import matplotlib as mpl
    from matplotlib import style
    from matplotlib.figure import Figure

    xs = sorted({x for row in heat_map.rows for x in row})
    values = np.array([[row.get(x, np.nan) for x in xs] for row in heat_map.rows])
    undated = {".svg": {"Date": None}, ".png": {}}[suffix]
    reproducible = {"svg.hashsalt": "mipselect", "svg.fonttype": "none"}
    with style.context("default"), mpl.rc_context(reproducible):
        high = 1.6 + 0.32 * len(heat_map.names)
        figure = Figure(figsize=(7.5, high), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(values, cmap="PuOr", vmin=-1.0, vmax=1.0, aspect="auto")
        axes.set_xticks(range(len(xs)), labels=[f"{x:g}" for x in xs], rotation=90)
        axes.set_yticks(range(len(heat_map.names)), labels=heat_map.names)
        axes.set(title=heat_map.title, xlabel=heat_map.x_label)
        figure.colorbar(image, ax=axes)
        figure.supxlabel("\n".join(heat_map.notes), fontsize="small", color="#444444")
        target = io.BytesIO()
        figure.savefig(target, format=suffix[1:], dpi=150, metadata=undated)
    return target.getvalue()
