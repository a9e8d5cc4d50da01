"""`Problem`: all that is public about an instance, before a row is seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray, checked_indices
from mipselect.blocks.grid import MOST_ROWS
from mipselect.blocks.partitions import DEFAULT_RIDGE, Blocks, default_block_coef_bound
from mipselect.errors import InvalidInput
from mipselect.losses import Loss, SquaredLoss, checked_loss
from mipselect.losses.base import degree_of, wants_classes
from mipselect.losses.box_dual import BoxDualLoss
from mipselect.problem.layout import Always, Groups, Layout, laid_out, missing
from mipselect.validation import (
    checked_integer,
    checked_nonnegative,
    checked_positive,
    checked_scale,
    set_fields,
)

if TYPE_CHECKING:
    from mipselect.tables.public_map import PublicMap

SMALLEST_RIDGE = 1e-50
LARGEST_RIDGE = 1e50
"""λ lies between these; it is in the units of squared entries of X."""

LEAST_RIDGE = 2.0**-44
"""λ is at least this share of what n rows can add up to in one direction."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Columns, how many are chosen, loss and bounds; what a method does not need may be None.

    Attributes
    ----------
    layout : Layout
        Which columns make a feature, which are always in, and their bounds.
    support_size : int
        s, between 1 and the number of features.
    loss : Loss or None
    y_bound, coef_bound, ridge : float or None
        b_y, r and λ, as for `Instance`.
    classes : (str, str) or None
        Names of -1 and +1, where they are known; then b_y is 1.
    units : PublicMap or None
        The map of a table with a schema, which knows the units of its columns.
    weight_bound : float or None
        W: the loss of a row counts clip(v, 0, W)/W, v its survey weight; of a block the product
        over its rows. None where all count the same.
    score : {"loss", "blocks", "block-r2"}
        Values of supports: losses of rows; least squares on blocks of rows, each normalised by
        itself, where all bounds of columns and target are 1, whatever their ranges are; or the
        block R² of `BlockScores`, which has no loss and no bounds.
    blocks : Blocks or None
        Blocks of a score from blocks, once it is settled.

    Raises
    ------
    InvalidInput
        For a number out of its range.

    Examples
    --------
    >>> from mipselect import load_instance
    >>> problem = load_instance("tiny-plain").problem
    >>> problem.n_features, problem.support_size, problem.number_of_supports
    (8, 3, 56)
    >>> round(problem.sensitivity(1000), 6)
    0.006473
    """

    layout: Layout
    support_size: int
    loss: Loss | None = None
    y_bound: float | None = None
    coef_bound: float | None = None
    ridge: float | None = None
    classes: tuple[str, str] | None = None
    units: PublicMap | None = None
    weight_bound: float | None = None
    score: str = "loss"
    blocks: Blocks | None = None

    def __post_init__(self) -> None:
        size = checked_integer(self.support_size, "support_size", 1, self.n_features)
        checked: dict[str, Any] = {"support_size": size}
        # Scores are in units of the bounds, whatever these are; a loss squares them.
        in_range = checked_positive if self.loss is None else checked_scale
        if self.loss is not None and self.layout.limits is not None:
            self.layout.require_scales()
        if self.coef_bound is not None:
            checked["coef_bound"] = in_range(self.coef_bound, "coef_bound")
        if self.y_bound is not None:
            try:
                checked["y_bound"] = in_range(self.y_bound, "y_bound")
            except InvalidInput as error:
                if self.loss is None or self.loss.enough is None:
                    raise
                raise InvalidInput(
                    f"{error}; with {self.loss.name} y_bound = {self.loss.enough} is as much as is "
                    "of use, where U = x_bound · coef_bound · √support_size"
                ) from None
        if self.ridge is not None:
            checked["ridge"] = checked_ridge(self.ridge)
        if self.weight_bound is not None:
            checked["weight_bound"] = checked_scale(self.weight_bound, "weight_bound")
            if self.loss is not None:
                degree_of(self.loss)
        if self.of_classes or (self.classes is not None and self.y_bound is not None):
            checked["y_bound"] = 1.0
        set_fields(self, **checked)
        if isinstance(self.loss, BoxDualLoss) and None not in (self.y_bound, self.coef_bound):
            self.loss.require_stated(self.bound("y_bound"), self.prediction_bound)

    @classmethod
    def of_columns(
        cls,
        n_columns: int,
        column_names: Sequence[str] | None,
        *,
        support_size: int,
        groups: Groups = None,
        always: Always = None,
        intercept: bool = False,
        x_bound: float | Sequence[float] | None = None,
        loss: str | Loss | None = "squared",
        **others: Any,
    ) -> Problem:
        """Make the problem of an array; the arguments are those of `Instance`.

        Parameters
        ----------
        n_columns : int
        column_names : sequence of str or None
            None is for x0, x1, ...
        **others
            Further fields of a problem.
        """
        layout = laid_out(
            n_columns,
            column_names,
            groups=groups,
            always=always,
            intercept=intercept,
            x_bound=x_bound,
        )
        law = None if loss is None else checked_loss(loss)
        return cls(layout=layout, support_size=support_size, loss=law, **others)

    @property
    def p(self) -> int:
        """Number of columns of X."""
        return len(self.layout.column_names)

    @property
    def n_features(self) -> int:
        """Number of features that a support is chosen from; p without groups and always."""
        return len(self.layout.groups)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for every feature."""
        return self.layout.feature_names

    @property
    def of_classes(self) -> bool:
        """True if the loss is for a target of two classes."""
        return self.loss is not None and wants_classes(self.loss)

    @property
    def stated_loss(self) -> Loss:
        """The loss; `InvalidInput` where there is none."""
        if self.loss is None:
            raise missing("loss")
        return self.loss

    def bound(self, name: str) -> float:
        """Return y_bound, coef_bound or ridge; raise `InvalidInput` where it is missing."""
        value: float | None = getattr(self, name)
        if value is None:
            raise missing(name)
        return value

    @property
    def prediction_bound(self) -> float:
        """U = r √(b_A² + the s largest b_j² added up), the largest |x_iS·β|."""
        return self.layout.prediction_bound(self.support_size, self.bound("coef_bound"))

    def terms(self, n: int) -> int:
        """Count the losses that R(S) is the mean of: one for each of n rows, or for each block.

        Raises
        ------
        InvalidInput
            For fewer rows than a block has.
        """
        return n if self.blocks is None else self.blocks.count(n)

    def sensitivity(self, n: int) -> float:
        """Return Δ, the most that R(S) moves, for any S, when one of n rows is replaced.

        Block R² moves by 1 at most.
        """
        if self.score == "block-r2":
            return 1.0
        spread = self.stated_loss.spread(self.bound("y_bound"), self.prediction_bound)
        return spread / self.terms(n)

    def oscillation(self, n: int) -> float:
        """Compute half the length of an interval that has R'(S) - R(S) for all S; at most Δ.

        One row is replaced of n. A law ∝ exp(-εR(S)/2w) is ε-private, w this number
        (docs/mathematics/blocks.md, (3)).
        """
        if self.score == "block-r2":
            return 1.0
        moved = self.stated_loss.oscillation(self.bound("y_bound"), self.prediction_bound)
        return moved / self.terms(n)

    def least_ridge(self, n: int) -> float:
        """Return 2⁻⁴⁴ n (U/r)², the least λ of a problem with n rows: less is lost in rounding.

        References
        ----------
        docs/mathematics/restricted-problem.md, (9).
        """
        length = self.layout.prediction_bound(self.support_size, 1.0)
        return LEAST_RIDGE * self.terms(n) * length**2

    def require_ridge(self, n: int) -> None:
        """Raise `InvalidInput` where λ is below the least; n, which may be private, is not told."""
        least, ridge = self.least_ridge(n), self.bound("ridge")
        if ridge < least:
            enough = 10.0 ** math.ceil(math.log10(least))
            raise InvalidInput(
                f"ridge must be at least {enough:g} for so many rows within these bounds, got "
                f"{ridge:g}: rounding can make of less the value of another problem"
            )

    @property
    def relations(self) -> tuple[str, ...]:
        """Neighbouring relations that guarantees of draws are stated for.

        Scores from blocks have replace-one only: a further row may change several blocks. So has a
        ridge that is not enough for any number of rows: a refusal would tell how many there are.
        """
        known = self.score == "loss"
        if known and self.ridge is not None and self.layout.limits is not None:
            known = self.ridge >= self.least_ridge(MOST_ROWS)
        return ("replace-one", "add-remove") if known else ("replace-one",)

    @property
    def number_of_supports(self) -> int:
        """C(n_features, s)."""
        return math.comb(self.n_features, self.support_size)

    def with_support_size(self, support_size: int) -> Problem:
        """Return the same with another s.

        Raises
        ------
        InvalidInput
            For block R², whose blocks were made for this size.
        """
        if self.score == "block-r2" and support_size != self.support_size:
            raise InvalidInput(
                f"these scores are of supports of {self.support_size} features, not of "
                f"{support_size}: a draw has no further sizes"
            )
        return replace(self, support_size=support_size)

    def in_blocks(
        self, blocks: Blocks, coef_bound: float | None = None, ridge: float | None = None
    ) -> Problem:
        """Make a problem of least squares on normalised blocks of the same columns, without ranges.

        r and λ are in units of a normalised block; see `mipselect.blocks.partitions`.
        """
        layout, a = self.layout, len(self.layout.always)
        if coef_bound is None:
            widest = max(map(len, (*layout.groups, *layout.always)))
            coef_bound = default_block_coef_bound(self.support_size, a, widest)
        ones = np.ones(len(layout.groups))
        return replace(
            self,
            layout=replace(layout, limits=ones, always_limit=1.0, intercept=False),
            loss=SquaredLoss(),
            y_bound=1.0,
            coef_bound=coef_bound,
            ridge=DEFAULT_RIDGE if ridge is None else ridge,
            score="blocks",
            blocks=blocks,
        )

    def needing(self, bounds: Iterable[str]) -> Problem:
        """Return the same without a loss, and with no more than these bounds: x_bound, y_bound, ...

        Bounds of blocks are none of their rows.
        """
        kept = set(bounds) if self.score == "loss" else set()
        dropped: dict[str, Any] = {
            name: None for name in ("y_bound", "coef_bound", "ridge") if name not in kept
        }
        layout = self.layout
        if "x_bound" not in kept:
            layout = replace(layout, limits=None, always_limit=None)
        return replace(self, layout=layout, loss=None, score="loss", blocks=None, **dropped)

    def check_support(self, support: ArrayLike) -> IntArray:
        """Return `support` as an index array, or raise `InvalidInput`."""
        kind = "column indices" if self.layout.features.plain else "features"
        return checked_indices(support, self.support_size, self.n_features, "a support", kind)

    def check_supports(self, supports: ArrayLike) -> IntArray:
        """Return supports, shape (m, s), each sorted, or raise `InvalidInput`."""
        rows = np.asarray(supports)
        if rows.ndim != 2:
            raise InvalidInput(
                f"supports must have shape (m, {self.support_size}), got {rows.shape}"
            )
        for row in rows[:1]:
            self.check_support(row)
        ordered = np.sort(rows, axis=1)
        wrong = (ordered[:, 0] < 0) | (ordered[:, -1] >= self.n_features)
        wrong |= (np.diff(ordered, axis=1) == 0).any(axis=1)
        if wrong.any():
            self.check_support(rows[np.flatnonzero(wrong)[0]])
        return ordered.astype(np.intp)

    def public(self) -> dict[str, Any]:
        """Return all of it by the keys of reports and ledgers, ready for JSON; None if absent."""
        of_loss = self.score == "loss"
        unsettled = {"block_rows": None, "partitions": None}
        blocks = unsettled if self.blocks is None else self.blocks.public()
        return {
            "p": self.p,
            "support_size": self.support_size,
            "number_of_supports": self.number_of_supports,
            "x_bound": _one_if_alike(self.layout.limits) if of_loss else None,
            "y_bound": self.y_bound if of_loss else None,
            "coef_bound": self.coef_bound,
            "ridge": self.ridge,
            "loss": None if self.loss is None else self.loss.name,
            "features": list(self.feature_names),
            "n_features": self.n_features,
            **({} if of_loss else {"score": self.score, **blocks}),
            **({} if self.weight_bound is None else {"weight_bound": self.weight_bound}),
            **(self._of_several_columns() if self.units is None else self._of_a_table(self.units)),
        }

    def _of_several_columns(self) -> dict[str, Any]:
        layout = self.layout
        if layout.features.plain:
            return {}
        names = layout.column_names
        return {
            "groups": [[names[c] for c in group] for group in layout.groups],
            "always": [names[c] for part in layout.always for c in part],
            "intercept": layout.intercept,
        }

    def _of_a_table(self, units: PublicMap) -> dict[str, Any]:
        named, target = units.weight_name, units.target
        return {
            **({} if named is None else {"weight": named}),
            "protected_unit": units.protected_unit,
            "always": list(units.always_names),
            "intercept": self.layout.intercept,
            "target_scale": target.scale if self.score == "loss" else None,
            "target_offset": target.offset if self.score == "loss" else None,
            "classes": None if self.classes is None else list(self.classes),
        }


class OfProblem:
    """Data of one problem, which says what its supports are; immutable.

    Attributes
    ----------
    problem : Problem
        Public.
    n : int
        Number of rows; public under the replace-one relation.
    """

    problem: Problem
    n: int

    def __setattr__(self, name: str, value: object) -> None:
        kind = type(self).__name__
        raise AttributeError(f"{kind} is immutable; make a new one to change {name}")

    @property
    def sensitivity(self) -> float:
        """Δ: the most that the value of any support moves when one row is replaced."""
        return self.problem.sensitivity(self.n)

    @property
    def oscillation(self) -> float:
        """Half of the length of an interval that holds all changes of values; see `Problem`."""
        return self.problem.oscillation(self.n)

    @property
    def support_size(self) -> int:
        """Number of features that a support has, s."""
        return self.problem.support_size

    @property
    def n_features(self) -> int:
        """Number of features that a support is chosen from; p without groups and always."""
        return self.problem.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for every feature."""
        return self.problem.feature_names

    @property
    def number_of_supports(self) -> int:
        """C(n_features, s)."""
        return self.problem.number_of_supports


def checked_ridge(ridge: float) -> float:
    """Return λ, or raise `InvalidInput` for a number that no data can be solved with."""
    if checked_nonnegative(ridge, "ridge") == 0.0:
        raise InvalidInput(
            "ridge must be above 0, got 0: without it rounding can turn a value into that of "
            "another problem. 1 counts as much as one row; 1e-9 n x_bound² changes next to nothing"
        )
    return checked_scale(ridge, "ridge", SMALLEST_RIDGE, LARGEST_RIDGE)


def _one_if_alike(limits: FloatArray | None) -> float | list[float] | None:
    if limits is None:
        return None
    each: list[float] = limits.tolist()
    return each[0] if len(set(each)) == 1 else each
