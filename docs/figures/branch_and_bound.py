"""A branch-and-bound tree on the stored instance diabetes, with the plainest bound.

A support of a node lies in the union of what is in and what is free, and no further feature raises
R: so R of that union bounds R of every support of the node from below. The tree of mipselect has
sharper bounds; this one can be checked by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from style import BLUE, GREEN, GREY, RED, save, sheet

from mipselect import Instance, load_instance, top_supports

NAMES = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
SIZE = 2


@dataclass
class Node:
    """A family of supports.

    Attributes
    ----------
    inside, free : tuple of int
        Features that are in, and features that may be added.
    bound : float
        No support of the family has a smaller value.
    choice : str
        What was decided last.
    children : list of Node
    colour : str
        What became of it.
    """

    inside: tuple[int, ...]
    free: tuple[int, ...]
    bound: float
    choice: str
    children: list[Node] = field(default_factory=list)
    colour: str = BLUE


def restricted() -> Instance:
    """Return the problem of the figure: without a norm constraint, and nothing is clipped."""
    whole = load_instance("diabetes")
    columns = [list(whole.feature_names).index(name) for name in NAMES]
    return Instance(
        np.asarray(whole.X)[:, columns], np.asarray(whole.y), support_size=SIZE,
        x_bound=float(np.abs(whole.X).max()), y_bound=float(np.abs(whole.y).max()),
        coef_bound=1e6, ridge=1.0,
    )  # fmt: skip


def loss(instance: Instance, features: tuple[int, ...]) -> float:
    """Return R of any set of features, by its normal equations."""
    X, y, n = instance.X[:, features], instance.y, instance.n
    gram = X.T @ X + instance.ridge * np.eye(len(features))
    return float(y @ y - (X.T @ y) @ np.linalg.solve(gram, X.T @ y)) / (2 * n)


def tree(instance: Instance) -> tuple[Node, float, int]:
    """Return the root, the value of the best support, and the number of nodes."""
    everything = tuple(range(len(NAMES)))
    best, count = np.inf, 0

    def visit(inside: tuple[int, ...], free: tuple[int, ...], choice: str) -> Node:
        nonlocal best, count
        count += 1
        node = Node(inside, free, loss(instance, inside + free), choice)
        missing = SIZE - len(inside)
        if missing == 0 or len(free) == missing:
            support = inside + (free if missing else ())
            node.bound = loss(instance, support)
            node.colour = GREEN if node.bound < best else RED
            best = min(best, node.bound)
        elif node.bound >= best:
            node.colour = RED
        else:
            first = min(free, key=lambda j: loss(instance, (*inside, j)))
            rest = tuple(j for j in free if j != first)
            for also, word in (((*inside, first), "+ "), (inside, "− ")):
                left = rest if len(also) < SIZE else ()
                node.children.append(visit(also, left, word + NAMES[first]))
        return node

    root = visit((), everything, "all free")
    return root, best, count


def draw(path: Path) -> None:
    """Draw it into an SVG file."""
    instance = restricted()
    root, best, count = tree(instance)
    certified = float(top_supports(instance, 1).values[0])
    assert abs(best - certified) <= 1e-9 * certified
    places: dict[int, tuple[float, float]] = {}
    leaves = iter(range(1000))

    def place(node: Node, depth: int) -> float:
        xs = [place(child, depth + 1) for child in node.children] or [float(next(leaves))]
        places[id(node)] = ((xs[0] + xs[-1]) / 2, float(depth))
        return places[id(node)][0]

    place(root, 0)
    across, down = 1.1, 0.85
    depths = max(y for _, y in places.values())
    figure, axes = sheet((max(x for x, _ in places.values()) + 1) * across, (depths + 1.6) * down)
    top = (depths + 1.15) * down

    def show(node: Node) -> None:
        x, y = places[id(node)]
        at = ((x + 0.5) * across, top - y * down)
        for child in node.children:
            cx, cy = places[id(child)]
            to = ((cx + 0.5) * across, top - cy * down)
            axes.plot([at[0], to[0]], [at[1], to[1]], color=GREY, lw=1.3, zorder=0)
            show(child)
        shape = {BLUE: "round,pad=0.3", GREEN: "square,pad=0.35", RED: "round4,pad=0.3"}
        axes.text(*at, f"{node.choice}\n{node.bound:,.0f}", color="white", ha="center",
                  va="center", fontsize=9, bbox={"boxstyle": shape[node.colour],
                  "fc": node.colour, "ec": "none", "ls": "-"})  # fmt: skip

    show(root)
    key = (("divided", BLUE), ("a better support", GREEN), ("pruned: no better", RED))
    for k, (word, colour) in enumerate(key):
        axes.text(0.3 + 1.75 * k, 0.28, word, color="white", va="center", fontsize=9,
                  bbox={"boxstyle": "round,pad=0.3", "fc": colour, "ec": "none"})  # fmt: skip
    pairs = len(NAMES) * (len(NAMES) - 1) // 2
    axes.text(5.2, 0.28, f"{count} nodes; {pairs} supports of {SIZE} of {len(NAMES)} columns",
              va="center", fontsize=9)  # fmt: skip
    save(figure, path)
