"""The same integers from every source, in any order, those that are right, and in a file."""

from __future__ import annotations

import itertools
import json
import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from mipselect.errors import InvalidInput, MipselectError
from mipselect.grid import MOST_ROWS, on_grid
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from tests.support.one_table import CONTENT, SCHEMA, numbers, of_table, summed, table

TABLE = table(300)
WANTED = of_table(TABLE)


def moments(source: Any, **options: Any) -> Moments:
    return Moments.of(source, SCHEMA, target="stay", **options)


def test_sums_are_those_of_pythons_integers() -> None:
    found = moments(TABLE)
    assert found.matrix.dtype == np.int64
    assert (found.matrix == WANTED).all()
    assert (found.n, found.p, repr(found)) == (300, 9, "Moments(n=300, p=9, folds=1)")
    X, y = numbers(50)
    entries, target = on_grid(X, np.array([2.0, 1.0, 0.3])), on_grid(y, 1.0)
    assert np.abs(entries).max() == 1.0
    ours = Moments.of((X, y), x_bound=[2.0, 1.0, 0.3], y_bound=1.0)
    assert (ours.matrix == summed(entries, target)).all()


@settings(max_examples=60)
@given(st.data())
def test_chunks_and_order_change_nothing(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 60))
    X, y = numbers(n, seed=data.draw(st.integers(0, 9)))
    folds = data.draw(st.sampled_from([1, 3]))
    options = {"x_bound": [2.0, 1e-3, 7.3], "y_bound": 0.7, "folds": folds}
    wanted = Moments.of((X, y), **options)
    order = np.array(data.draw(st.permutations(range(n))))
    cuts = sorted(data.draw(st.lists(st.integers(1, n - 1), unique=True))) if n > 1 else []
    parts = [order[i:j] for i, j in itertools.pairwise([0, *cuts, n])]
    total = Moments.of((X[parts[0]], y[parts[0]]), **options)
    for part in parts[1:]:
        total = Moments.of((X[part], y[part]), **options) + total
    assert (total.folds == wanted.folds).all()


def test_streams_lists_orders_and_files_give_the_same_bits(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Every other source is read as it is for any map of rows."""
    monkeypatch.setattr("mipselect.tables.sources.ROWS", 17)
    for start, end in itertools.pairwise((0, 1, 120, 250, 300)):
        part = TABLE.slice(start, end - start)
        parquet.write_table(part, tmp_path / f"{start}.parquet", row_group_size=13)
    shuffled = TABLE.take(np.random.default_rng(0).permutation(300))
    streams = TABLE.to_reader(max_chunksize=7), TABLE.to_batches(max_chunksize=11)
    for source in (*streams, shuffled, tmp_path):
        assert (moments(source).matrix == WANTED).all()


def test_three_sites_add_up() -> None:
    one, two, three = (moments(TABLE.slice(a, 100), folds=4) for a in (0, 100, 200))
    whole = moments(TABLE, folds=4)
    assert ((one + two + three).folds == whole.folds).all()
    assert ((three + (one + two)).folds == whole.folds).all()
    with pytest.raises(InvalidInput, match="4 and in 1 folds"):
        one + moments(TABLE)
    with pytest.raises(InvalidInput, match="different columns or bounds"):
        one + moments(TABLE, folds=4, ranges={"dose": (0.0, 2.0)})
    with pytest.raises(TypeError):
        one + 1  # type: ignore[operator]


def test_the_last_rows_that_fit_and_the_first_that_do_not() -> None:
    ones = np.ones((1, 1)), np.ones(1)
    one = Moments.of(ones, x_bound=1.0, y_bound=1.0)
    most = Moments(one.columns, one.folds * MOST_ROWS)
    assert most.n == 2**31 - 1
    assert int(most.matrix.max()) == (2**31 - 1) * 2**32
    with pytest.raises(InvalidInput, match="at most 2,147,483,647 rows"):
        most + one
    almost = Moments(one.columns, one.folds * (MOST_ROWS - 1))
    assert (almost + one).n == MOST_ROWS


def test_folds_are_of_rows_and_not_of_places() -> None:
    X, y = numbers(2000)
    options = {"x_bound": 2.0, "y_bound": 1.0, "folds": 5}
    found = Moments.of((X, y), **options)
    sizes = found.folds[:, 0, 0] // 2**32
    assert sizes.sum() == 2000
    assert sizes.min() > 300
    assert (found.matrix == Moments.of((X, y), x_bound=2.0, y_bound=1.0).matrix).all()
    moved = 0
    for row in range(40):
        other = X.copy()
        other[row] = [0.25, -1.0, 2.0]
        changed = Moments.of((other, y), **options).folds != found.folds
        moved = max(moved, int(changed.any(axis=(1, 2)).sum()))
    assert moved == 2
    fewer = Moments.of((X[1:], y[1:]), **options).folds != found.folds
    assert fewer.any(axis=(1, 2)).sum() == 1


def test_one_row_of_each_person_over_all_batches() -> None:
    fields = [{"name": "who", "type": "string"}, *CONTENT["fields"]]
    schema = TableSchema.of({**CONTENT, "csvw-eo:privacyUnit": "who", "fields": fields})
    who = [None if v == 7 else f"é{v}" for v in np.random.default_rng(1).integers(90, size=300)]
    several = TABLE.append_column("who", pa.array(who))
    first = [who.index(v) for v in dict.fromkeys(who)]
    wanted = of_table(TABLE.take(first))
    assert len(first) < 95
    in_fives = pa.Table.from_batches(several.to_batches(max_chunksize=5))
    for source in (several, in_fives, several.to_batches(max_chunksize=3)):
        assert (Moments.of(source, schema, target="stay").matrix == wanted).all()


def test_progress_counts_rows() -> None:
    seen: list[int] = []
    parts = [TABLE.slice(start, 20) for start in range(0, 100, 20)]
    Moments.of(parts, SCHEMA, target="stay", progress=seen.append)
    assert seen == [20, 40, 60, 80, 100]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Moments.of(TABLE, SCHEMA), "target must be given"),
        (lambda: Moments.of(TABLE, SCHEMA, target="stai"), "did you mean 'stay'"),
        (lambda: Moments.of(TABLE, SCHEMA, target="stay", x_bound=1.0), "a schema has the bounds"),
        (lambda: Moments.of(TABLE, x_bound=1.0, y_bound=1.0), "give the schema of a table"),
        (lambda: Moments.of("t.csv", x_bound=1.0, y_bound=1.0), "give the schema of a table"),
        (lambda: Moments.of(numbers(3), y_bound=1.0), "x_bound must be given"),
        (lambda: Moments.of(numbers(3), x_bound=[1.0], y_bound=1.0), "x_bound must be one number"),
        (lambda: Moments.of([], x_bound=1.0, y_bound=1.0), "must be .X, y."),
        (lambda: Moments.of((numbers(3)[0], [1.0]), x_bound=1, y_bound=1), "one value per row"),
        (lambda: Moments.of((np.array([[np.nan]]), [1.0]), x_bound=1, y_bound=1), "row 0"),
        (lambda: Moments.of(TABLE.slice(0, 0), SCHEMA, target="stay"), "no rows"),
        (lambda: Moments.of(numbers(3), x_bound=1, y_bound=1, folds=0), "folds must be"),
        (lambda: Moments.of(numbers(3), x_bound=1, y_bound=1, folds=10**7), "1 GiB"),
        (lambda: Moments.of(TABLE, {"fields": []}, target="stay"), "schema must be a TableSchema"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(wrong: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        wrong()


def saved(folder: Path, **options: Any) -> Path:
    path = folder / "m.npz"
    Moments.of(TABLE, SCHEMA, target="stay", **options).save(path)
    return path


def test_a_file_holds_all_of_them_and_is_for_its_owner(tmp_path: Path) -> None:
    path = saved(tmp_path, folds=3, never=["smoker"], ranges={"dose": (0.5, 2.0)})
    assert path.stat().st_mode & 0o077 == 0
    back = Moments.load(path)
    wanted = Moments.of(
        TABLE, SCHEMA, target="stay", folds=3, never=["smoker"], ranges={"dose": (0.5, 2.0)}
    )
    assert (back.folds == wanted.folds).all()
    assert back.columns.to_dict() == wanted.columns.to_dict()
    assert ((back + wanted).folds == 2 * wanted.folds).all()
    assert not back.matrix.flags.writeable
    assert not back.folds.flags.writeable
    with np.load(path, allow_pickle=False) as archive:
        assert "SENSITIVE" in json.loads(str(archive["about"][()]))["sensitive"]
    other = Moments.of(numbers(40), x_bound=[1.0, 0.1, 3.0], y_bound=2.5)
    other.save(path)
    assert (Moments.load(path).matrix == other.matrix).all()
    assert Moments.load(path).columns == other.columns
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_of_moments_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    with np.load(path) as archive:
        about, totals = str(archive["about"][()]), archive["totals"]

    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "unpickled"),)

    def written(text: str, sums: Any) -> None:
        np.savez(path, about=np.array(text), totals=sums)

    asymmetric, beyond, least = (totals.copy() for _ in range(3))
    asymmetric[0, 1, 2] += 1
    beyond[0, 3, 3] = beyond[0, 0, 0] + 1
    least[0, 1, 1] = np.iinfo(np.int64).min
    bare = json.loads(about)
    del bare["columns"]["schema"]
    sums = (
        *(totals[:, 1:, 1:], totals.astype(np.float64), totals[:0], -totals, totals + 1),
        *(asymmetric, beyond, least),
    )
    texts = ("{", "[" * 100_000, "{}", json.dumps(bare), about.replace('"table"', '"x"'))
    attempts = [
        *(partial(path.write_bytes, part) for part in (b"", whole[: len(whole) // 2])),
        lambda: path.write_bytes(pickle.dumps(Evil())),
        lambda: np.savez(path, about=np.array([Evil()], dtype=object), totals=totals),
        *(partial(written, text, totals) for text in texts),
        *(partial(written, about, wrong) for wrong in sums),
    ]
    for attempt in attempts:
        attempt()
        with pytest.raises(InvalidInput, match=r"m\.npz: "):
            Moments.load(path)
    assert not (tmp_path / "unpickled").exists()
    with pytest.raises(InvalidInput, match="no such file"):
        Moments.load(tmp_path / "absent.npz")
    with pytest.raises(MipselectError, match="could not be written"):
        Moments.of(TABLE, SCHEMA, target="stay").save(tmp_path / "absent" / "m.npz")
