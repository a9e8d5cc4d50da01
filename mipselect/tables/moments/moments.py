"""`Moments`: exact sums of squares and products, all that the squared loss needs of a table."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect import disk
from mipselect.errors import InvalidInput
from mipselect.grid import MOST_ROWS
from mipselect.tables.moments.columns import (
    ArrayColumns,
    BlockColumns,
    Columns,
    TableColumns,
    array_columns,
)
from mipselect.tables.moments.sums import (
    MOST_BYTES,
    ONE,
    IntMatrix,
    Progress,
    checked_rows,
    count,
    open_tables,
    part_of_arrays,
)
from mipselect.tables.public_map import Ranges, TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_integer, set_fields, shown

FORMAT = "mipselect moments 1"
SENSITIVE = (
    "SENSITIVE: computed from the data without any privacy. Keep it where the data may be kept."
)


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """M = ZᵀZ of the rows of a table after its public map, Z = [1, x, y], in integers; SENSITIVE.

    Made by `Moments.of`. The same to the last bit for any chunks, order, threads and machines.

    Parameters
    ----------
    columns : Columns or BlockColumns
        What is public about the columns.
    folds : ndarray of int64, shape (folds, p + 2, p + 2)
        M of every fold, in units of 2^-32; read-only. Sensitive.

    Notes
    -----
    Entries of Z lie in [-1, 1] and are cut towards zero to multiples of 2^-16: a public map of one
    row. Doubles add up the products of a million such rows without rounding, and 64-bit integers
    those of 2^31 - 1.

    For the squared loss M is all that `Instance.from_moments` needs: search, exact draws, values.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect import Instance, top_supports
    >>> from mipselect.tables.moments import Moments
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 6))
    >>> y = X[:, 1] - X[:, 4]
    >>> bounds = {"x_bound": 1.0, "y_bound": 2.0}
    >>> half = Moments.of((X[:1000], y[:1000]), **bounds)
    >>> moments = half + Moments.of((X[1000:], y[1000:]), **bounds)
    >>> bool((moments.matrix == Moments.of((X, y), **bounds).matrix).all())
    True
    >>> instance = Instance.from_moments(moments, support_size=2, coef_bound=2.0, ridge=1.0)
    >>> top_supports(instance, 1).supports.tolist()
    [[1, 4]]
    """

    columns: Columns | BlockColumns
    folds: IntMatrix = field(repr=False)

    def __post_init__(self) -> None:
        folds = np.array(self.folds, dtype=np.int64)
        folds.flags.writeable = False
        set_fields(self, folds=folds)

    @classmethod
    def of(
        cls,
        source: Any,
        schema: TableSchema | None = None,
        *,
        target: str | None = None,
        never: Sequence[str] = (),
        ranges: Ranges | None = None,
        unit_rule: str = "first",
        x_bound: float | ArrayLike | None = None,
        y_bound: float | None = None,
        folds: int = 1,
        progress: Progress | None = None,
    ) -> Moments:
        """Add up a table in one pass; no more than some batches of it are in memory.

        Parameters
        ----------
        source : path, table, list of tables, or (X, y)
            With a schema what `mipselect.tables.sources.open_source` takes, or a list of such
            tables. Without one arrays X, shape (n, p), and y, shape (n,).
        schema : TableSchema, optional
            What is public about the table.
        target : str, optional
            The field to predict; goes with the schema, as `never` and `ranges`.
        never : sequence of str
            Fields that are left out.
        ranges : mapping of str to (float, float), optional
            Public ranges in place of those of the schema.
        unit_rule : {"first"}
            What becomes of several rows of one person: the first counts. Others need all rows of a
            person together.
        x_bound : float or array_like of shape (p,), optional
            Columns of arrays are clipped to ± this; public.
        y_bound : float, optional
            The same of their target.
        folds : int
            Into how many parts the rows are divided, by a hash of each row alone: with M of every
            one of them there are ballots of blocks.
        progress : callable, optional
            Receives the number of rows so far.

        Raises
        ------
        InvalidInput
            Before a row is read for what is wrong with the question or a header; with the row for
            what is no finite number in arrays; for more than 2^31 - 1 rows.

        Notes
        -----
        A missing target counts as the middle of its range, as in the loss of
        `Instance.from_table`.

        Where the schema has a survey weight, rows are multiplied by √w, w in [0, 1] the share of
        its maximum, and √w is one more column, the last. The ones still count the rows.

        Folds: two tables that differ in one row may differ in two folds, the one that the row has
        left and the one that it has entered; where a row is added or removed, in one. Equal rows
        are in one fold.

        References
        ----------
        docs/large-tables.md.
        """
        number = checked_integer(folds, "folds", 1)
        columns: Columns
        if schema is None:
            names, part = part_of_arrays(source)
            columns = array_columns(names, x_bound, y_bound)
            sums = count([part], columns, number, progress)
        else:
            if x_bound is not None or y_bound is not None:
                raise InvalidInput("a schema has the bounds: leave out x_bound and y_bound")
            if target is None:
                raise InvalidInput("target must be given: the field of the schema to predict")
            left_out = [never] if isinstance(never, str) else never
            columns = TableColumns(
                TableQuestion(schema, target, (), left_out, ranges or {}, unit_rule)
            )
            sums = count(open_tables(source, columns.public), columns, number, progress)
        if not sums[:, 0, 0].any():
            raise InvalidInput("the table has no rows")
        return cls(columns, sums)

    @classmethod
    def load(cls, path: str | Path) -> Moments:
        """Read a file that `save` wrote; nothing is unpickled.

        Raises
        ------
        InvalidInput
            Naming the file and what is wrong with it.
        """
        return cls(*_read(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write an .npz file, whole or not at all, that only its owner can read. SENSITIVE."""
        about = {"format": FORMAT, "sensitive": SENSITIVE, "columns": self.columns.to_dict()}
        archive = io.BytesIO()
        words = np.array(json.dumps(about, ensure_ascii=False))
        np.savez(archive, about=words, totals=self.folds)
        disk.save(Path(path), archive.getvalue(), sensitive=True)

    def __add__(self, other: object) -> Moments:
        """Add the moments of two tables, which must have nobody in common."""
        if not isinstance(other, Moments):
            return NotImplemented
        if self.columns.to_dict() != other.columns.to_dict():
            raise InvalidInput(
                "moments of different columns or bounds cannot be added: make both with the same "
                "schema, target, never and ranges, or the same names and bounds"
            )
        if self.folds.shape != other.folds.shape:
            raise InvalidInput(
                f"moments in {len(self.folds)} and in {len(other.folds)} folds cannot be added"
            )
        checked_rows(self.n + other.n)
        return Moments(self.columns, self.folds + other.folds)

    def __repr__(self) -> str:
        return f"Moments(n={self.n}, p={self.p}, folds={len(self.folds)})"

    @cached_property
    def matrix(self) -> IntMatrix:
        """M of all rows in units of 2^-32, shape (p + 2, p + 2), read-only. SENSITIVE."""
        total: IntMatrix = self.folds.sum(axis=0) if len(self.folds) > 1 else self.folds[0]
        total.flags.writeable = False
        return total

    @property
    def n(self) -> int:
        """Number of rows; public under the replace-one relation."""
        return int(self.folds[:, 0, 0].sum()) // ONE

    @property
    def p(self) -> int:
        """Number of columns, without the one and the target."""
        return len(self.columns.names)


def _read(path: Path) -> tuple[Columns, IntMatrix]:
    """Read and check a file; raise `InvalidInput`, naming it, for anything that is none."""
    disk.regular_file(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            about, totals = json.loads(str(archive["about"][()])), archive["totals"]
    except (*disk.DAMAGE, MemoryError):
        raise InvalidInput(f"{path}: is no file of moments, or a damaged one") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InvalidInput(f"{path}: is no file of moments in the format {FORMAT!r}")
    try:
        columns = _columns(about["columns"])
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidInput(f"{path}: the file is damaged: {shown(error)}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error
    size = len(columns.names) + 2
    if totals.dtype != np.int64 or totals.ndim != 3 or totals.shape[1:] != (size, size):
        raise InvalidInput(f"{path}: the file is damaged: its sums must be {size} by {size}")
    if not (len(totals) and _are_sums(totals)):
        raise InvalidInput(f"{path}: the file is damaged: its numbers are no sums of rows")
    return columns, totals


def _columns(content: Mapping[str, Any]) -> Columns:
    """Read what `to_dict` wrote; else raise `InvalidInput`, `KeyError` or `TypeError`."""
    match content["kind"]:
        case "arrays":
            names, x_bounds = tuple(content["names"]), tuple(content["x_bounds"])
            return ArrayColumns(names, x_bounds, content["y_bound"])
        case "table":
            schema = TableSchema.of(content["schema"])
            ranges = {name: (ends[0], ends[1]) for name, ends in content["ranges"].items()}
            never = content["never"]
            return TableColumns(
                TableQuestion(schema, content["target"], never=never, ranges=ranges)
            )
        case kind:
            raise InvalidInput(f"columns are of arrays or of a table, not {shown(kind)}")


def _are_sums(totals: IntMatrix) -> bool:
    """Return whether every matrix could be ZᵀZ of some rows that begin with a one."""
    rows, left = np.divmod(totals[:, 0, 0], ONE)
    in_range = totals.nbytes <= MOST_BYTES and int(rows.min()) >= 0 and not left.any()
    if not in_range or sum(rows.tolist()) > MOST_ROWS:
        return False
    most = (rows * ONE)[:, None, None]
    diagonal = np.diagonal(totals, axis1=1, axis2=2)
    return bool(
        (np.abs(totals) <= most).all()
        and (totals >= -most).all()
        and (totals == totals.transpose(0, 2, 1)).all()
        and (diagonal >= 0).all()
    )
