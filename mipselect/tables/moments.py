"""`Moments`: exact sums of squares and products, all that the squared loss needs of a table.

For rows by themselves the columns are Z = [1, x, y]. The entries of Z are integers in
-65,536..65,536: multiples of `GRID`, cut towards zero, of columns in [-1, 1]. A row in Z depends on
one row of the table, and on nothing else. For blocks they are x and y as they are: no range of them
is used. One pass over a table, in any order and by several threads, adds them up.
"""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from mipselect import disk, validation
from mipselect.arrays import FloatArray, checked_scales
from mipselect.blocks.grid import GRID, MOST_ROWS, exact_sums, on_grid
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import Blocks
from mipselect.blocks.r_squared import cores
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_target, refuse_another_order
from mipselect.tables.check import PersonCheck, Progress
from mipselect.tables.mapping import open_table
from mipselect.tables.parts import ROWS, Part, refuse_twice
from mipselect.tables.public_map import PublicMap, Ranges, TableQuestion, counted_shares
from mipselect.tables.schema import TableSchema


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of (X, y), finite and not copied; shapes (m, p) and (m,)."""

    X: FloatArray
    y: FloatArray

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, some: slice) -> ArrayRows:
        return ArrayRows(self.X[some], self.y[some])


@dataclass(frozen=True)
class ArrayColumns:
    """Columns of arrays, clipped to public bounds and divided by them.

    Attributes
    ----------
    names : tuple of str
        Names of the columns x, p of them.
    x_bounds : tuple of float
        b_j of every column: an entry of Z stands for so many times itself; shape (p,).
    y_bound : float
        b_y, the same of the target.
    ones : int
        Place in Z of the column of an intercept: the ones that count the rows.
    """

    names: tuple[str, ...]
    x_bounds: tuple[float, ...]
    y_bound: float
    ones: ClassVar[int] = 0
    blocks: ClassVar[None] = None
    reads: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        size = len(self.names)
        validation.set_fields(
            self,
            names=validation.checked_feature_names(self.names, size),
            x_bounds=checked_scales(self.x_bounds, "x_bound", size),
            y_bound=validation.checked_scale(self.y_bound, "y_bound"),
        )

    def rows(self, batch: ArrayRows) -> FloatArray:
        """Map rows to Z."""
        Z = np.ones((len(batch), len(self.names) + 2))
        Z[:, 1:-1] = on_grid(batch.X.astype(np.float64, copy=False), np.array(self.x_bounds))
        Z[:, -1] = on_grid(batch.y.astype(np.float64, copy=False), self.y_bound)
        Z *= 1.0 / GRID
        return Z

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {"kind": "arrays", **asdict(self)}


@dataclass(frozen=True)
class TableColumns:
    """Columns of a table after the public map of its schema, in [-1, 1].

    With a survey weight w in [0, 1] a row is multiplied by √w, and √w itself is the last of its
    columns: that of an intercept. The ones before them still count the rows.

    Attributes
    ----------
    question : TableQuestion
        No field is always in: the columns stand as their fields in the schema, whatever is. A
        range of a field that is left out says nothing.

    Raises
    ------
    InvalidInput
        For what is wrong with the question.
    """

    question: TableQuestion
    y_bound: ClassVar[float] = 1.0
    blocks: ClassVar[None] = None

    def __post_init__(self) -> None:
        validation.set_fields(self, question=self.question.of_moments())
        _ = self.public

    @property
    def public(self) -> PublicMap:
        """The map of a row."""
        return self.question.public

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns x, p of them; the weight is the last."""
        weight = self.public.weight
        named = () if weight is None else (weight.name,)
        return tuple(column.name for column in self.public.columns) + named

    @property
    def x_bounds(self) -> tuple[float, ...]:
        """All 1."""
        return (1.0,) * len(self.names)

    @property
    def ones(self) -> int:
        """0: the ones that count the rows; or the place of √w."""
        return 0 if self.public.weight is None else len(self.names)

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns of a table that `rows` takes in a batch."""
        return self.public.names

    def rows(self, batch: Any) -> FloatArray:
        """Map an Arrow batch with the columns `public.names` to Z."""
        m, public = batch.num_rows, self.public
        shares = public.shares(batch)
        factors = None if shares is None else np.sqrt(counted_shares(shares))
        Z = np.empty((m, len(self.names) + 2), order="F")
        Z[:, 0] = 1.0 / GRID
        if factors is not None:
            Z[:, self.ones] = np.trunc(factors / GRID)
        widest = max(map(len, public.blocks))
        scratch = np.empty((m, widest), np.float32, order="F")
        # Field after field, so that its columns are still in the cache when they are cut.
        for k, (encoder, block) in enumerate(zip(public.encoders, public.blocks, strict=True)):
            part, out = scratch[:, : len(block)], Z[:, 1 + block.start : 1 + block.stop]
            encoder.encode(public.stored(batch, k), part)
            np.multiply(part, 1.0 / GRID, out=out, dtype=np.float64)
            if factors is not None:
                out *= factors[:, None]
            np.trunc(out, out=out)
        y = np.nan_to_num(public.targets(batch), nan=0.0)
        np.multiply(y, 1.0 / GRID if factors is None else factors / GRID, out=Z[:, -1])
        np.trunc(Z[:, -1], out=Z[:, -1])
        return Z

    def to_dict(self) -> dict[str, Any]:
        """Return what the columns are made of, ready for JSON."""
        asked = self.question
        return {
            "kind": "table",
            "schema": asked.schema.content,
            "target": asked.target,
            "never": list(asked.never),
            "ranges": {name: list(ends) for name, ends in asked.ranges.items()},
        }


Columns = ArrayColumns | TableColumns
"""Columns of rows by themselves: their names and bounds, public."""


@dataclass(frozen=True)
class BlockColumns:
    """Columns x and y of rows as they are, and how they are normalised within blocks of rows.

    Sums over these blocks are those of one draw of the partitions, and no file has them.

    Attributes
    ----------
    names : tuple of str
        Names of the columns x, p of them.
    parts : ColumnsOfFeatures
        Columns that are normalised together; the target is the last of p + 1.
    blocks : Blocks
    weighted : bool
        Whether rows have one more column, the last: how much each counts.
    """

    names: tuple[str, ...]
    parts: ColumnsOfFeatures
    blocks: Blocks
    weighted: bool = False
    y_bound: ClassVar[float] = 1.0
    ones: ClassVar[int] = 0

    @property
    def x_bounds(self) -> tuple[float, ...]:
        """All 1."""
        return (1.0,) * len(self.names)

    def to_dict(self) -> NoReturn:
        """Raise `InvalidInput`."""
        raise InvalidInput(
            "sums over blocks of rows are neither saved nor added; make them of all rows again"
        )


ONE = 2**32
"""Amount that a row of ones adds to an entry."""

MOST_BYTES = 2**30
"""Most bytes of ZᵀZ in all folds; 11,585 columns in one."""

CACHED_ROWS = 1 << 14
"""So many rows are mapped and multiplied at a time: a column of them stays in the cache."""

MOST_THREADS = 8
"""More would wait for what reads."""

IntMatrix = NDArray[np.int64]


def open_tables(source: Any, public: PublicMap) -> tuple[Part, ...]:
    """Return the parts of a table, or of a list of tables, whose headers are looked at.

    A file that is reached twice is refused.
    """
    if not isinstance(source, list | tuple):
        return open_table(source, public)
    together = tuple(part for one in source for part in open_tables(one, public))
    refuse_twice(place for part in together for place in part.places)
    return together


def part_of_arrays(source: Any) -> tuple[tuple[str, ...], Part]:
    """Return the names of the columns of (X, y), and a part whose batches are `ArrayRows`.

    Raises
    ------
    InvalidInput
        With the row for what is no finite number.
    """
    if not (isinstance(source, tuple) and len(source) == 2):
        raise InvalidInput(
            "without a schema the source must be (X, y), with x_bound and y_bound; got "
            f"{validation.shown(type(source).__name__)}: give the schema of a table"
        )
    refuse_another_order(*source)
    X, names = numeric_matrix(source[0])
    y = numeric_target(source[1], len(X))

    def read(_: Sequence[str]) -> Iterator[ArrayRows]:
        return slices(ArrayRows(X, y), ROWS)

    named = names or tuple(f"x{j}" for j in range(X.shape[1]))
    return named, Part("the arrays", named, (), len(y), read)


def zero_sums(folds: int, size: int) -> IntMatrix:
    """Return ZᵀZ of no rows, shape (folds, size, size); `InvalidInput` if it is too large."""
    if 8 * folds * size**2 > MOST_BYTES:
        raise InvalidInput(
            f"{size:,} columns with the one and the target, in {folds:,} folds, need "
            f"{8 * folds * size**2 / 2**30:.1f} GiB of sums; at most 1 GiB is held"
        )
    return np.zeros((folds, size, size), dtype=np.int64)


def checked_rows(rows: int) -> int:
    """Return a number of rows; raise `InvalidInput` for more than sums can have."""
    if rows > MOST_ROWS:
        raise InvalidInput(
            f"moments hold at most {MOST_ROWS:,} rows, for sums of more do not fit into 64 bits; "
            "draw from fewer"
        )
    return rows


def folds_of(Z: FloatArray, folds: int) -> NDArray[np.int64]:
    """Hash all entries of every row, and nothing else, to its fold, shape (m,).

    So it depends neither on the order of the rows nor on who adds them up. Equal rows are in one
    fold, and a row that is replaced may leave one fold and enter another.
    """
    places = np.arange(1, Z.shape[1] + 1, dtype=np.uint64)
    entries = Z.astype(np.int64).view(np.uint64)
    mixed = _mixed((entries * _mixed(places)).sum(axis=1, dtype=np.uint64))
    return (mixed % np.uint64(folds)).astype(np.int64)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Permute the integers below 2^64 without a pattern (Steele et al., SplitMix)."""
    values = values * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def count(
    parts: Sequence[Part], columns: Columns, folds: int, progress: Progress | None = None
) -> IntMatrix:
    """Add up all rows of the parts, and of people the first row of each, to ZᵀZ of every fold.

    Parameters
    ----------
    parts : sequence of Part
    columns : Columns
    folds : int
    progress : callable, optional
        Receives the number of rows so far.

    Notes
    -----
    Sums are exact, so it does not matter in which order the threads end.
    """
    totals, turn = zero_sums(folds, len(columns.names) + 2), Lock()
    unit = columns.public.unit if isinstance(columns, TableColumns) else None

    def read() -> Iterator[tuple[Any, Any]]:
        people, rows, added = None if unit is None else PersonCheck(unit), 0, 0
        for batch in (batch for part in parts for batch in part.read(columns.reads)):
            kept = None if people is None else people.add(batch.columns[-1])
            added = checked_rows(added + len(batch if kept is None else kept))
            yield batch, kept
            rows += len(batch)
            if progress is not None:
                progress(rows)

    def add(batch: Any, kept: Any) -> None:
        for piece in slices(batch, CACHED_ROWS) if kept is None else [batch]:
            Z = columns.rows(piece) if kept is None else columns.rows(piece)[kept]
            fold = folds_of(Z, folds) if folds > 1 else None
            for k in range(folds):
                rows = Z if fold is None else Z[fold == k]
                products = exact_sums(rows, rows, 1.0)
                # Threads multiply at the same time, and add in turn.
                with turn:
                    totals[k] += products

    in_threads(add, read(), min(MOST_THREADS, cores()))
    return totals


def in_threads(
    work: Callable[..., object], pieces: Iterable[tuple[Any, ...]], threads: int
) -> None:
    """Call `work` for all pieces by several threads; few of the pieces wait at a time."""
    waiting = deque[Future[object]]()
    with blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for piece in pieces:
            if len(waiting) > threads:
                waiting.popleft().result()
            waiting.append(pool.submit(work, *piece))
        while waiting:
            waiting.popleft().result()


@cache
def blas() -> ThreadpoolController:
    """Find the libraries that multiply, once; finding them takes longer than a small table."""
    return ThreadpoolController()


def slices(batch: Any, rows: int) -> Iterator[Any]:
    """Yield parts of a batch, of so many rows or fewer; nothing is copied."""
    for start in range(0, len(batch), rows):
        yield batch[start : start + rows]


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
        validation.set_fields(self, folds=folds)

    @classmethod
    def of(
        cls,
        source: Any,
        schema: TableSchema | None = None,
        *,
        target: str | None = None,
        never: Sequence[str] = (),
        ranges: Ranges | None = None,
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
        `Instance.from_table`. Of several rows of one person the first counts.

        Where the schema has a survey weight, rows are multiplied by √w, w in [0, 1] the share of
        its maximum, and √w is one more column, the last. The ones still count the rows.

        Folds: two tables that differ in one row may differ in two folds, the one that the row has
        left and the one that it has entered; where a row is added or removed, in one. Equal rows
        are in one fold.

        References
        ----------
        docs/large-tables.md.
        """
        number = validation.checked_integer(folds, "folds", 1)
        columns: Columns
        if schema is None:
            names, part = part_of_arrays(source)
            if x_bound is None or y_bound is None:
                lacking = "x_bound" if x_bound is None else "y_bound"
                raise InvalidInput(
                    f"{lacking} must be given; choose it without looking at the data"
                )
            columns = ArrayColumns(names, checked_scales(x_bound, "x_bound", len(names)), y_bound)
            sums = count([part], columns, number, progress)
        else:
            if x_bound is not None or y_bound is not None:
                raise InvalidInput("a schema has the bounds: leave out x_bound and y_bound")
            if target is None:
                raise InvalidInput("target must be given: the field of the schema to predict")
            left_out = [never] if isinstance(never, str) else never
            columns = TableColumns(TableQuestion(schema, target, (), left_out, ranges or {}))
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
        raise InvalidInput(f"{path}: the file is damaged: {validation.shown(error)}") from None
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
            raise InvalidInput(f"columns are of arrays or of a table, not {validation.shown(kind)}")


def _are_sums(totals: IntMatrix) -> bool:
    """Return whether every matrix could be ZᵀZ of some rows that begin with a one."""
    rows, left = np.divmod(totals[:, 0, 0], ONE)
    if totals.nbytes > MOST_BYTES or not 0 <= int(rows.min()) <= sum(rows.tolist()) <= MOST_ROWS:
        return False
    most = (rows * ONE)[:, None, None]
    return bool(
        not left.any()
        and (np.diagonal(totals, axis1=1, axis2=2) >= 0).all()
        and ((totals <= most) & (totals >= -most)).all()
        and (totals == totals.transpose(0, 2, 1)).all()
    )
