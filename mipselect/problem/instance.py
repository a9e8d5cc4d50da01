"""`Instance`: a problem, which is public, with its data, which are sensitive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.blocks.partitions import Blocks
from mipselect.blocks.scores import BLOCKS, LOSS, SCORES, BlockOptions, require_together
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_target, plain_array
from mipselect.losses import CertifiedLoss, Loss, PreparedLoss, RestrictedFit, SquaredLoss
from mipselect.losses.base import leave_out
from mipselect.problem.data import ClippedRows, ExactSums, Rows, problem_with_rows
from mipselect.problem.layout import Always, Groups, Layout
from mipselect.problem.problem import OfProblem, Problem
from mipselect.restricted.grouping import on_features
from mipselect.validation import checked_choice, set_fields

if TYPE_CHECKING:
    from mipselect.tables import TableEquation, TableSchema
    from mipselect.tables.moments import Moments
    from mipselect.tables.public_map import Ranges


class Instance(OfProblem):
    """A sparse regression problem with public bounds; validated, clipped and immutable.

    The value of a support S with |S| = s is

        R(S) = min over β ∈ R^S, ‖β‖₂ ≤ r of (1/n) Σ_i ℓ(y_i, x_iS·β) + (λ/2n) ‖β‖₂².

    A support is a set of s features; a feature is one column, or several that are chosen or left
    out together. Columns that are always in, and an intercept, have coefficients as well, in the
    same ball and with the same ridge.

    Parameters
    ----------
    X : array_like of shape (n, p)
        One row per person. Clipped to `x_bound`: the entries of a single column, the Euclidean
        length of a row within a feature of several columns. A data frame (pandas, or
        what offers an Arrow table, as Polars) keeps its column names. float32 stays float32;
        everything else becomes float64, and is clipped at the same bound, the largest float32 up
        to `x_bound`. Text, dates, masked and missing values are refused. An
        .npy file that is mapped, `np.load(path, mmap_mode="r")`, and lies within one bound is not
        copied: it may be larger than memory, and must not change.
    y : array_like of shape (n,)
        Clipped entrywise to [-y_bound, y_bound]. For the hinge loss two classes (numbers or
        names); the first in sorted order becomes -1, the second +1, and `classes` says which.
    support_size : int
        s, between 1 and the number of features: the `n_features_to_select` of a selector.
    x_bound : float or sequence of float
        b_x, or one b_j for every feature, in the units of the columns of X.
    y_bound : float
        b_y, in the units of y. Classes are -1 and +1 whatever `y_bound` was given: it is 1 then.
        All bounds lie between 1e-25 and 1e25.
    coef_bound : float
        r, the largest ‖β‖₂.
    ridge : float
        λ, between 1e-50 and 1e50, and at least 2⁻⁴⁴ n (U/r)², U as below: less is lost in rounding.
    loss : str or Loss
        "squared", ½(y-u)²; "hinge"; "huber(κ)" with κ in the units of y; "quantile(q)"; or a
        loss of your own.
    feature_names : sequence of str, optional
        p different names of columns, each one printable line of at most 200 characters; default x0,
        x1, ... A mapping of `groups` names the features.
    groups : sequence of sequences of int or str, or mapping of str to these, optional
        The columns of every feature, as indices or names; disjoint, and with `always` all of
        them. A mapping names the features. Default: every column that is not always in.
    always : sequence of int or str, optional
        Columns that are in whatever is chosen, each clipped to the largest `x_bound`. A sequence
        within it is bounded as one, as the indicators of a category are.
    intercept : bool
        Whether a column of ones is always in.
    device : str, optional
        Device of PyTorch that multiplies columns, as "cuda"; see `on_device`.

    Attributes
    ----------
    problem : Problem
        Public.
    data : ClippedRows or ExactSums
        Sensitive.
    n : int
        Number of rows; public under the replace-one relation.

    Raises
    ------
    InvalidInput
        With the row, the column and the value that is wrong, and what would be right.

    Notes
    -----
    As an attribute `x_bound` is the largest bound; `layout.bounds` holds all of them. `classes` is
    None, or the names of the classes that became -1 and +1.

    The support size, the bounds, λ, the loss, its classes, the groups, n and p must be chosen
    without looking at the data: the privacy guarantee treats them as public.

    With features of norm at most b_j and columns that are always in of norm at most b_A in all
    every prediction is within U = r √(b_A² + the s largest b_j² added up): a category with 200
    indicators costs no more sensitivity than a number.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    sections 2 and 4, appendix A.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect import Instance
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 6))
    >>> bounds = {"x_bound": 1.0, "y_bound": 2.0, "coef_bound": 1.5, "ridge": 1.0}
    >>> instance = Instance(X, X[:, 1] - X[:, 4], support_size=2, **bounds)
    >>> instance.n, instance.p, instance.number_of_supports
    (400, 6, 15)
    >>> instance.objective([1, 4]) < instance.objective([0, 4])
    True
    >>> round(instance.sensitivity, 6)
    0.021232
    """

    data: ClippedRows | ExactSums

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        support_size: int,
        x_bound: float | Sequence[float],
        y_bound: float,
        coef_bound: float,
        ridge: float,
        loss: str | Loss = "squared",
        feature_names: Sequence[str] | None = None,
        groups: Groups = None,
        always: Always = None,
        intercept: bool = False,
        device: str | None = None,
    ) -> None:
        problem, rows = problem_with_rows(
            X,
            y,
            support_size=support_size,
            feature_names=feature_names,
            groups=groups,
            always=always,
            intercept=intercept,
            x_bound=x_bound,
            loss=loss,
            y_bound=y_bound,
            coef_bound=coef_bound,
            ridge=ridge,
        )
        set_fields(self, **vars(self.of_rows(problem, rows, device)))

    @classmethod
    def of_rows(cls, problem: Problem, rows: Rows, device: str | None = None) -> Self:
        """Clip rows to the bounds of a problem; names of classes become -1 and +1.

        In a problem of blocks they are not clipped, but normalised block by block. A device of
        PyTorch adds up pairs, or multiplies columns as `on_device` says.

        Raises
        ------
        InvalidInput
            For a target that the loss does not take.
        """
        if problem.blocks is not None:
            from mipselect.tables.instances import sums_of_blocks

            together = np.column_stack([rows.columns(problem), numeric_target(rows.y, rows.n)])
            numbers = together.astype(np.float64, copy=False)
            return cls.of(problem, sums_of_blocks(problem, numbers, device))
        # Where the loss knows its classes nothing is refused because of a label.
        loss, y = problem.stated_loss, rows.y
        declared = loss.classes is not None
        encoded, classes = loss.encode(y if declared else plain_array(y, "y"))
        target = numeric_target(encoded, rows.n)
        X = problem.layout.clipped(rows.X)
        if declared:
            leave_out(X, target)
        problem = replace(problem, classes=classes)
        made = cls.of(problem, ClippedRows.of(problem, X, target))
        return made if device is None else made.on_device(device)

    @classmethod
    def from_table(
        cls,
        source: Any,
        schema: TableSchema,
        *,
        target: str,
        support_size: int,
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        intercept: bool = True,
        coef_bound: float | None = None,
        ridge: float | None = None,
        loss: str | Loss = "squared",
        ranges: Ranges | None = None,
        unit_rule: str = "first",
        score: str | None = LOSS,
        block_rows: int | None = None,
        partitions: int | None = None,
        partition_seed: int | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        """Make an instance of a real table by the public map of its schema.

        Every field is one feature, whatever the number of its columns; features and target lie
        in [-1, 1], so that `x_bound` and `y_bound` are 1.

        Parameters
        ----------
        source : path or table
            CSV, Parquet or Arrow files, a folder of them, a data frame, whatever offers an Arrow
            stream; see `mipselect.tables.sources.open_source`.
        schema : TableSchema
            What is public about the table.
        target : str
            The field to predict: a number with a range, or two classes.
        support_size : int
            s, how many fields to choose.
        always, never : sequence of str
            Fields that are always in, or left out.
        intercept : bool
            Whether a column of ones is always in.
        coef_bound : float, optional
            r, in the units of columns and a target in [-1, 1]; default 1.25/√(s + a + 1) with a
            fields that are always in and an intercept, so that U = 1.25, else 1/√(s + a).
        ridge : float, optional
            λ; default 1, as much as one row.
        loss : str or Loss
            As for `Instance`; κ of Huber's is in units of half the target's range.
        ranges : mapping of str to (float, float), optional
            Public ranges in place of those of the schema.
        unit_rule : {"first", "last", "mean"}
            What becomes of several rows of one person, where the schema has a privacy unit.
        score : {"loss", "blocks", "block-r2"}, optional
            Values of supports. "blocks" is least squares on blocks of rows, see `from_blocks`, and
            "block-r2" R² within them, see `BlockScores`; neither uses a range. None is block R²
            where all supports can be listed soon, else least squares.
        block_rows, partitions, partition_seed, epsilon : optional
            Of scores from blocks, as for `from_blocks` and `BlockScores`.

        Returns
        -------
        Instance or BlockScores
            `BlockScores` for block R².

        Raises
        ------
        InvalidInput
            For what is wrong with the schema, the question or a header, before a row is read;
            nothing is raised because of the rows.

        Notes
        -----
        In the loss a missing target counts as the middle of its range. Where the loss wants
        classes, a row without one has no features and no intercept, so that its loss is the same
        whatever is chosen. Models that are fitted to a table leave out rows without a target.

        Where the schema has a survey weight v with maximum W, the loss of a row counts
        clip(v, 0, W)/W, and 0 where v is missing; R(S) remains a mean over all n rows. The squared
        and the quantile loss take weights.

        References
        ----------
        docs/tables.md; docs/mathematics/weights.md; "Differentially Private High-dimensional
        Variable Selection via Integer Programming", section 4, for the sensitivity.
        """
        from mipselect.tables.instances import ScoredTable
        from mipselect.tables.public_map import TableQuestion

        question = TableQuestion(schema, target, always, never, ranges or {}, unit_rule)
        scales: dict[str, Any] = {"coef_bound": coef_bound, "ridge": ridge}
        of_blocks: dict[str, Any] = {
            "block_rows": block_rows,
            "partitions": partitions,
            "partition_seed": partition_seed,
        }
        if score is not None:
            checked_choice(score, "score", SCORES)
        of_loss, blocks = {"intercept": intercept, "loss": loss, **scales}, None
        if score == LOSS:
            require_together(LOSS, of_blocks)
        else:
            require_together(score or BLOCKS, {"loss": loss, "ranges": ranges or None})
            blocks = BlockOptions(score=score, epsilon=epsilon, **scales, **of_blocks)
        return ScoredTable(source, question, support_size, of_loss, blocks).made()

    @classmethod
    def from_blocks(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        support_size: int,
        block_rows: int | None = None,
        partitions: int | None = None,
        partition_seed: int | None = None,
        always: Always = None,
        groups: Groups = None,
        feature_names: Sequence[str] | None = None,
        coef_bound: float | None = None,
        ridge: float | None = None,
        device: str | None = None,
    ) -> Self:
        """Make an instance of blocks of a few rows, each normalised by itself: no range is used.

        T random partitions divide the rows into blocks of b. Within a block every feature is
        centred and scaled to norm 1, and so is the target. With Z the rows of the blocks, m
        blocks a partition, and one β for all blocks

            R(S) = min over ‖β‖₂ ≤ r of (1/mT) Σ ½‖y_block - Z_block,S β‖² + (λ/2m)‖β‖₂².

        A row is in one block of each partition, and no block moves R(S) by more than a constant,
        whatever stands in it. With two rows a block only the order of two values counts: the sums
        are Kendall's correlations, and monotone maps of a column change nothing.

        Parameters
        ----------
        X, y : array_like
            Shapes (n, p) and (n,), as for `Instance`. Classes are two numbers.
        support_size : int
            s, how many features to choose.
        block_rows : int, optional
            b, rows of a block; default 2. Two see ranks; more come nearer to R², and are fewer.
        partitions : int, optional
            T; default 16.
        partition_seed : int, optional
            The partitions are drawn from it; default from the operating system. Choose it without
            looking at the data.
        always, groups, feature_names : optional
            As for `Instance`.
        coef_bound, ridge : float, optional
            r and λ, in units of normalised blocks; default U = r√(s + a) = 0.75, or 1.5 where a
            feature has many columns, and 1.
        device : str, optional
            Device of PyTorch that adds up pairs of rows, as "cuda".

        Raises
        ------
        InvalidInput

        Notes
        -----
        Rows are known up to n only: guarantees are those of replacing one.

        References
        ----------
        docs/mathematics/blocks.md.

        Examples
        --------
        >>> import numpy as np
        >>> from mipselect import ExponentialMechanism, Instance
        >>> X = np.random.default_rng(0).standard_normal((3000, 8))
        >>> instance = Instance.from_blocks(X, np.exp(X[:, 1] - X[:, 4]), support_size=2)
        >>> ExponentialMechanism(instance, epsilon=1.0).release().support
        (1, 4)
        """
        blocks = Blocks.of(block_rows, partitions, partition_seed)
        problem, rows = problem_with_rows(
            X,
            y,
            support_size=support_size,
            feature_names=feature_names,
            groups=groups,
            always=always,
            loss=None,
        )
        return cls.of_rows(problem.in_blocks(blocks, coef_bound, ridge), rows, device)

    @classmethod
    def from_moments(
        cls,
        moments: Moments,
        *,
        support_size: int,
        coef_bound: float | None = None,
        ridge: float | None = None,
        always: Always = None,
        never: Sequence[str] = (),
        groups: Groups = None,
        intercept: bool | None = None,
    ) -> Instance:
        """Make an instance with the squared loss from sums over rows that are not here.

        Search, exact draws, levels, values and coefficients are those of the rows, cut to the
        grid of `Moments`. What needs the rows raises `InvalidInput`.

        Parameters
        ----------
        moments : Moments
            Their columns have the bounds, in the units that `Moments.of` was given.
        support_size : int
            s, how many features to choose.
        coef_bound, ridge : float
            r and λ, as for `Instance`. Those of a table have the defaults of `from_table`.
        always : optional
            As for `Instance`; of a table, fields.
        never : sequence of str
            Fields of a table that are left out besides those that the moments leave out.
        groups : optional
            As for `Instance`; not of a table, whose fields are its features. A row is bounded
            within a group by the bounds of all its columns together, √(Σ b_j²).
        intercept : bool, optional
            Whether a column of ones is always in; default: of a table it is, of arrays not.

        Raises
        ------
        InvalidInput

        References
        ----------
        docs/large-tables.md.
        """
        from mipselect.tables.instances import instance_of_moments

        return instance_of_moments(
            moments,
            support_size=support_size,
            coef_bound=coef_bound,
            ridge=ridge,
            always=always,
            never=never,
            groups=groups,
            intercept=intercept,
        )

    @classmethod
    def of(cls, problem: Problem, data: ClippedRows | ExactSums) -> Self:
        """Put a problem and data that obey its bounds together.

        Raises
        ------
        InvalidInput
            For a ridge that is too small for so many rows.
        """
        problem.require_ridge(data.n)
        new = cls.__new__(cls)
        set_fields(new, problem=problem, data=data, n=data.n)
        return new

    def __repr__(self) -> str:
        features = "" if self.layout.features.plain else f"n_features={self.n_features}, "
        classes = f", classes={self.classes!r}" if self.classes is not None else ""
        blocks = self.problem.blocks
        bounds = (
            f"x_bound={self.x_bound:g}, y_bound={self.y_bound:g}"
            if blocks is None
            else f"block_rows={blocks.rows}, partitions={blocks.partitions}"
        )
        return (
            f"Instance(n={self.n}, p={self.p}, {features}support_size={self.support_size}, "
            f"{bounds}, coef_bound={self.coef_bound:g}, ridge={self.ridge:g}, "
            f"loss={self.loss!r}{classes})"
        )

    @property
    def X(self) -> FloatArray:
        """The clipped columns, shape (n, p), read-only; sensitive.

        Raises
        ------
        InvalidInput
            For an instance from moments, as `y` does: there are no rows.
        """
        columns = self.layout.table(self.data.X)
        columns.flags.writeable = False
        return columns

    @property
    def y(self) -> FloatArray:
        """The clipped target, shape (n,), read-only; sensitive."""
        y: FloatArray = self.data.y
        return y

    @property
    def p(self) -> int:
        """Number of columns of X."""
        return self.problem.p

    @property
    def layout(self) -> Layout:
        """Columns of each feature, and those that are always in; public."""
        return self.problem.layout

    @property
    def x_bound(self) -> float:
        """The largest bound of a feature."""
        return float(self.layout.bounds.max())

    @property
    def y_bound(self) -> float:
        """b_y, the largest |y|."""
        return self.problem.bound("y_bound")

    @property
    def coef_bound(self) -> float:
        """r, the largest ‖β‖₂."""
        return self.problem.bound("coef_bound")

    @property
    def ridge(self) -> float:
        """λ of the penalty (λ/2n)‖β‖²."""
        return self.problem.bound("ridge")

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return self.problem.stated_loss.name

    @property
    def classes(self) -> tuple[str, str] | None:
        """Names of the classes that became -1 and +1, or None."""
        return self.problem.classes

    @property
    def value_error(self) -> float:
        """The most by which a value that is returned differs from R(S), for any S; public."""
        return self.value_error_of(self.n)

    def value_error_of(self, n: int) -> float:
        """Return `value_error` for n rows within the same bounds; public."""
        return self.data.value_error(self.problem, n)

    @property
    def value_error_of_one_row(self) -> float:
        """Error of a value with one row, as a share of Δ: what the loss leaves open; public."""
        bounds = self.y_bound, self.problem.prediction_bound
        loss = self.problem.stated_loss
        return loss.value_error(1, *bounds) / loss.spread(*bounds)

    @cached_property
    def prepared(self) -> PreparedLoss:
        """The loss tied to the clipped data; what the search works on."""
        if isinstance(self._tied, CertifiedLoss):
            return self._tied.certified_for(self.sensitivity)
        return self._tied

    @cached_property
    def _tied(self) -> PreparedLoss:
        """The loss tied to the clipped data, for any support size."""
        return on_features(self.data.prepared(self.problem), self.layout.features)

    def with_support_size(self, support_size: int) -> Self:
        """Return the same data and bounds with another s; nothing is copied."""
        other = self.of(self.problem.with_support_size(support_size), self.data)
        if other.support_size == self.support_size:
            return self
        # Made here if it is not there yet, so that both share it.
        other.__dict__["_tied"] = self._tied
        return other

    def on_device(self, device: str | None) -> Self:
        """Return the same data and bounds, whose columns PyTorch multiplies on a device.

        Nothing that is found or proven differs but by rounding within `value_error`. X is there in
        its own precision; values are sums in float64.

        Parameters
        ----------
        device : str or None
            "cuda", "cuda:1", "cpu"; None is NumPy.

        Raises
        ------
        InvalidInput
            Where the device cannot be used, for another loss than the squared, and for sums
            without rows.
        """
        if not isinstance(self.data, ClippedRows):
            raise InvalidInput("a device multiplies columns of rows, and here are only sums")
        if device is not None:
            if not isinstance(self.problem.stated_loss, SquaredLoss):
                raise InvalidInput(f"a device is for the squared loss, not for {self.loss}")
            from mipselect.restricted.device import device_of

            device_of(device)
        return self.of(self.problem, replace(self.data, device=device))

    def objective(self, support: ArrayLike) -> float:
        """Return R(support); sensitive.

        Parameters
        ----------
        support : array_like of int, shape (s,)
            Distinct 0-based indices of features, in any order.
        """
        return self.fit(support).value

    def objectives(self, supports: ArrayLike) -> FloatArray:
        """Return R of every row of `supports`, shape (m, s), as one batch (m,); sensitive."""
        return self.prepared.values(self.problem.check_supports(supports))

    def fit(self, support: ArrayLike) -> RestrictedFit:
        """Solve the restricted problem exactly; value, coef and multiplier are sensitive.

        `coef` follows the order of `support`, and within a feature that of its columns.
        """
        indices = self.problem.check_support(support)
        order = np.argsort(indices)
        # In one order, so that rounding does not depend on how a support is written.
        fit = self.prepared.fit(indices[order])
        widths = self.layout.features.widths[indices[order]]
        blocks = np.split(fit.coef, np.cumsum(widths)[:-1])
        return replace(fit, coef=np.concatenate([blocks[k] for k in np.argsort(order)]))

    def fit_in_units(self, support: ArrayLike) -> TableEquation:
        """Return the coefficients of `fit` in the units of the table; sensitive.

        Raises
        ------
        InvalidInput
            Where the instance was not made from a table with a schema, or is of blocks.
        """
        if self.problem.blocks is not None:
            raise InvalidInput("coefficients of normalised blocks have no unit of the table")
        units = self.problem.units
        if units is None:
            raise InvalidInput("only a table with a schema has units: use Instance.from_table")
        from mipselect.tables.encoders import equation

        fit = self.fit(support)
        chosen = [units.features[j] for j in self.problem.check_support(support).tolist()]
        always = fit.always.tolist()
        constant = always.pop() if self.layout.intercept else 0.0
        encoders, coef = [*chosen, *units.always], [*fit.coef.tolist(), *always]
        return equation(encoders, units.target, coef, constant)
