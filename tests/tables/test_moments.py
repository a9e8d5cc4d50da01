"""Moments: the same integers from every source, and instances of them, whose draws are private."""

from __future__ import annotations

import itertools
import json
import os
import pickle
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from mipselect import ExponentialMechanism, Instance, TopR, mistake_levels, top_supports
from mipselect.blocks.grid import MOST_ROWS, on_grid
from mipselect.errors import InvalidInput, MipselectError
from mipselect.selectors import KendallSelector
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from tests.support.designs import least_ridge
from tests.support.fields import listed, schema_of
from tests.support.mapped_tables import map_table
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
    monkeypatch.setattr("mipselect.tables.parts.ROWS", 17)
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


# Instances.


def both(
    source: Any, schema: TableSchema, target: str, size: int, never: Any = (), **options: Any
) -> tuple[Instance, Instance]:
    """From moments, and from the mapped rows on the grid."""
    moments = Moments.of(source, schema, target=target, never=never)
    one = Instance.from_moments(moments, support_size=size, **options)
    mapped = map_table(source, schema, target=target, never=never, always=options.get("always", ()))
    other = Instance(
        on_grid(mapped.X.astype(np.float64), 1.0),
        on_grid(mapped.y, 1.0),
        support_size=size,
        x_bound=1.0,
        y_bound=1.0,
        coef_bound=one.coef_bound,
        ridge=one.ridge,
        groups=dict(zip(mapped.feature_names, mapped.groups, strict=True)),
        feature_names=mapped.column_names,
        always=mapped.always_groups,
        intercept=options.get("intercept", True),
    )
    return one, other


def assert_same(one: Instance, other: Instance, solver: str = "auto") -> None:
    for name in ("n", "p", "n_features", "sensitivity", "feature_names", "oscillation"):
        assert getattr(one, name) == getattr(other, name), name
    assert (one.layout.bounds == other.layout.bounds).all()
    # The same bits, so that all that is computed from them is the same.
    assert (one.prepared.gram.full() == other.prepared.gram.full()).all()
    assert (one.prepared.moment == other.prepared.moment).all()
    assert one.prepared.target_norm == other.prepared.target_norm
    pool, wanted = top_supports(one, solver=solver), top_supports(other, solver=solver)
    assert (pool.supports == wanted.supports).all()
    assert (pool.values == wanted.values).all()
    assert pool.rest_bound == wanted.rest_bound
    levels, expected = mistake_levels(one, solver=solver), mistake_levels(other, solver=solver)
    assert (levels.supports == expected.supports).all()
    assert levels.bounds == pytest.approx(expected.bounds, abs=1e-3 * one.sensitivity)
    law, known = ExponentialMechanism(one, 1.0), ExponentialMechanism(other, 1.0)
    for support in pool.supports[:5]:
        here = law.log_probability(support)
        assert here == pytest.approx(known.log_probability(support), abs=1e-5)
        assert TopR(pool, 1.0).log_probability(support) == pytest.approx(
            TopR(wanted, 1.0).log_probability(support)
        )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"intercept": False, "coef_bound": 0.3, "ridge": 4.0},
        {"always": ["ward"]},
        {"always": ["age", "smoker"]},
    ],
)
def test_it_is_the_instance_of_the_rows_on_the_grid(options: Any) -> None:
    source = table(400)
    for size in (1, 2):
        one, other = both(source, SCHEMA, "stay", size, **options)
        assert_same(one, other)
        known = Instance.from_table(source, SCHEMA, target="stay", support_size=size, **options)
        assert one.layout.column_names == known.layout.column_names
        assert one.layout.groups == known.layout.groups
        assert one.layout.always == known.layout.always
        assert one.problem.units == known.problem.units
        assert (one.coef_bound, one.ridge) == (known.coef_bound, known.ridge)
        supports = list(itertools.combinations(range(one.n_features), size))
        # Cutting to the grid moves an entry by less than 2^-16.
        change = (
            2.0 * 2.0**-16 * (1.0 + one.problem.prediction_bound) * (1.0 + 4.0 * one.coef_bound)
        )
        assert one.objectives(supports) == pytest.approx(known.objectives(supports), abs=change)
        near, far = one.fit_in_units(supports[0]), known.fit_in_units(supports[0])
        coefficients = ([term.coefficient for term in rule.terms] for rule in (near, far))
        assert next(coefficients) == pytest.approx(next(coefficients), abs=1e-2)


def test_more_fields_can_be_left_out_later() -> None:
    source = table(200)
    later = Instance.from_moments(
        Moments.of(source, SCHEMA, target="stay"), support_size=1, never=["ward"]
    )
    sooner = Instance.from_moments(
        Moments.of(source, SCHEMA, target="stay", never=["ward"]), support_size=1
    )
    assert later.feature_names == sooner.feature_names == ("age", "smoker", "dose")
    assert (later.prepared.gram.full() == sooner.prepared.gram.full()).all()


@pytest.mark.parametrize("solver", ["native", "highs"])
@pytest.mark.parametrize("bound", [2.0, 0.3])
def test_arrays_keep_their_units(solver: str, bound: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 24)) * bound
    y = X[:, 3] - 0.5 * X[:, 7] + 0.3 * X[:, 9] + 0.3 * rng.standard_normal(500)
    question = {"support_size": 3, "coef_bound": 1.1, "ridge": 5.0 * bound**2}
    moments = Moments.of((X, y), x_bound=bound, y_bound=2 * bound)
    one = Instance.from_moments(moments, **question)
    other = Instance(
        on_grid(X, bound) * bound, on_grid(y, 2 * bound) * (2 * bound),
        x_bound=bound, y_bound=2 * bound, **question,
    )  # fmt: skip
    if bound == 2.0:
        assert_same(one, other, solver)
    assert one.sensitivity == other.sensitivity
    pool, wanted = top_supports(one, 40, solver=solver), top_supports(other, 40, solver=solver)
    assert (pool.supports == wanted.supports).all()
    # The rows are clipped at the float32 below their bound.
    assert pool.values == pytest.approx(wanted.values, rel=1e-12 if bound == 2.0 else 1e-6)


def test_groups_of_summed_columns_are_bounded_together() -> None:
    X, y = numbers(300, p=6)
    moments = Moments.of((X, y), x_bound=[1.0, 2.0, 2.0, 3.0, 0.5, 1.0], y_bound=1.0)
    one = Instance.from_moments(
        moments, support_size=1, coef_bound=1.0, ridge=1.0, always=[["x0", "x5"]],
        groups={"a": ["x2", "x1", "x4"], "b": ["x3"]}, intercept=True,
    )  # fmt: skip
    assert one.layout.bounds == pytest.approx([np.sqrt(8.25), 3.0])
    assert one.layout.always_bound == pytest.approx(np.sqrt(2.0))
    assert one.problem.prediction_bound >= np.sqrt(9.0 + 2.0 + 1.0)
    cut = on_grid(X, np.array([1.0, 2.0, 2.0, 3.0, 0.5, 1.0])) * [1.0, 2.0, 2.0, 3.0, 0.5, 1.0]
    design = np.column_stack([cut[:, [2, 1, 4]], cut[:, [0, 5]], np.ones(300)])
    fit = one.fit([0])
    coef = np.concatenate([fit.coef, fit.always])
    residual = on_grid(y, 1.0) - design @ coef
    assert fit.value == pytest.approx((residual @ residual + coef @ coef) / 600)
    plain = Instance.from_moments(moments, support_size=2, coef_bound=1.0, ridge=1.0)
    assert plain.layout.bounds.tolist() == [1.0, 2.0, 2.0, 3.0, 0.5, 1.0]


def exact_value(rows: np.ndarray, y: np.ndarray, ridge: float, n: int) -> Fraction:
    """min over β of (1/2n)(‖y - Xβ‖² + λ‖β‖²) by Gauss's elimination, in fractions."""
    X = [[Fraction(v) for v in row] for row in rows.tolist()]
    t = [Fraction(v) for v in y.tolist()]
    size = rows.shape[1]
    system = [
        [sum(r[j] * r[k] for r in X) + (Fraction(ridge) if j == k else 0) for k in range(size)]
        + [sum(r[j] * v for r, v in zip(X, t, strict=True))]
        for j in range(size)
    ]
    for j in range(size):
        for k in range(j + 1, size):
            share = system[k][j] / system[j][j]
            system[k] = [a - share * b for a, b in zip(system[k], system[j], strict=True)]
    beta = [Fraction(0)] * size
    for j in reversed(range(size)):
        known = sum(system[j][k] * beta[k] for k in range(j + 1, size))
        beta[j] = (system[j][size] - known) / system[j][j]
    moment = [sum(r[j] * v for r, v in zip(X, t, strict=True)) for j in range(size)]
    return (sum(v * v for v in t) - sum(b * m for b, m in zip(beta, moment, strict=True))) / (2 * n)


@pytest.mark.parametrize("seed", range(12))
def test_values_that_cancel_are_within_the_public_error(seed: int) -> None:
    """Near-exact fits, columns that almost repeat each other, small and large ridges."""
    rng = np.random.default_rng(seed)
    n, size = 40, int(rng.integers(1, 6))
    base = rng.uniform(-1, 1, (n, 1))
    X = np.clip(base + rng.choice([1e-4, 1e-2, 1.0]) * rng.uniform(-1, 1, (n, size)), -1, 1)
    y = np.clip(
        X @ rng.uniform(-0.5, 0.5, size) + rng.choice([0, 1e-4]) * rng.normal(size=n), -1, 1
    )
    moments = Moments.of((X, y), x_bound=1.0, y_bound=1.0)
    copies = int(rng.choice([1, 10**6, 5 * 10**7]))
    many = Moments(moments.columns, moments.folds * copies)
    ridge = max(float(10.0 ** rng.integers(-9, 4)), least_ridge(many.n, size, 1.0))
    one = Instance.from_moments(many, support_size=size, coef_bound=1e6, ridge=ridge)
    # The rows `copies` times, and λ: as the rows once, and λ / copies.
    exact = exact_value(on_grid(X, 1.0), on_grid(y, 1.0), float(Fraction(ridge) / copies), n)
    assert abs(float(Fraction(one.objective(range(size))) - exact)) <= one.value_error
    small = Instance.from_moments(many, support_size=size, coef_bound=10.0, ridge=ridge)
    if one.fit(range(size)).multiplier == 0.0 and np.linalg.norm(one.fit(range(size)).coef) < 9.0:
        assert abs(float(Fraction(small.objective(range(size))) - exact)) <= small.value_error
    assert small.value_error < 1e-4 * small.sensitivity * max(1.0, many.n / 1e8)


def test_what_is_not_known_far_better_than_tau_is_refused() -> None:
    X, y = numbers(100, p=12)
    moments = Moments.of((X, y), x_bound=1.0, y_bound=1.0)
    many = Moments(moments.columns, moments.folds * 20_000_000)
    instance = Instance.from_moments(many, support_size=2, coef_bound=1.0, ridge=1e4)
    assert 0.0 < instance.value_error < 0.0025 * instance.sensitivity
    assert top_supports(instance, 10, tolerance=0.01).certified
    for search in (top_supports, mistake_levels):
        for tolerance in (None, 1e-3):
            with pytest.raises(InvalidInput, match=r"but to one of 0\.01: give"):
                search(instance, tolerance=tolerance)
    few = Instance.from_moments(moments, support_size=2, coef_bound=1.0, ridge=1.0)
    assert top_supports(few, 10, tolerance=1e-3).certified
    rows = Instance(X, y, support_size=2, x_bound=1, y_bound=1, coef_bound=1, ridge=1)
    assert top_supports(rows, 10, tolerance=0.0).certified


def test_what_needs_rows_says_so() -> None:
    moments = Moments.of(table(50), SCHEMA, target="stay")
    instance = Instance.from_moments(moments, support_size=1)
    for needs in (
        lambda: instance.X,
        lambda: instance.y,
        lambda: KendallSelector(epsilon=1.0).on(instance),
    ):
        with pytest.raises(InvalidInput, match="sums and no rows"):
            needs()
    assert "n=50" in repr(instance)
    with pytest.raises(AttributeError, match="immutable"):
        instance.ridge = 2.0
    arrays = Moments.of(numbers(5), x_bound=1.0, y_bound=1.0)
    for wrong, message in (
        ({"moments": arrays, "support_size": 1}, "need coef_bound and ridge"),
        ({"moments": moments, "support_size": 9}, "support_size must be an integer in 1..4"),
        ({"moments": moments, "support_size": 1, "groups": [[0]]}, "fields of a table are"),
        ({"moments": moments, "support_size": 1, "always": ["stay"]}, "cannot be in always"),
        ({"moments": (1, 2), "support_size": 1}, "moments must be Moments"),
    ):
        with pytest.raises(InvalidInput, match=message):
            Instance.from_moments(**wrong)


UNIT = {"type": "number", "constraints": {"minimum": -1, "maximum": 1}}
OF_WARDS = schema_of(
    listed("ward", "a", "b", "c"),
    {"name": "dose", **UNIT},
    {"name": "x", **UNIT},
    {"name": "y", **UNIT},
)
HOSTILE: tuple[tuple[Any, ...], ...] = (
    ("z", 1e300, "nan", "inf"),
    (None, None, None, None),
    ("a", -1, -1, -1),
    ("a", 1, -1, 1),
    ("b", 1, 1, -1e9),
    ("", 0.99999999, -1, 0.99999999),
    ("c", "1e-7", "-1e-7", "text"),
    (None, -1, 1, 1),
)


def moments_of(rows: list[tuple[Any, ...]], seed: int) -> Moments:
    """In two batches, in another order each time."""
    order = np.random.default_rng(seed).permutation(len(rows))
    cells = [[None if rows[k][j] is None else str(rows[k][j]) for k in order] for j in range(4)]
    table = pa.table(dict(zip(("ward", "dose", "x", "y"), map(pa.array, cells), strict=True)))
    return Moments.of(table.to_reader(max_chunksize=1 + len(rows) // 2), OF_WARDS, target="y")


@cache
def pairs() -> tuple[tuple[Instance, Instance], ...]:
    rng = np.random.default_rng(5)
    found = []
    for k in range(10):
        n = (2, 5, 30)[k % 3]
        question = {
            "support_size": 1 + k % 2,
            "always": ["x"] if k % 5 == 4 else [],
            "coef_bound": (0.4, 1.5)[k % 2],
            "ridge": 1e-3,
            "intercept": k % 3 != 1,
        }
        rows = [HOSTILE[int(rng.integers(len(HOSTILE)))] for _ in range(n)]
        if k % 4 == 3:
            rows = [(rows[i][0], *rng.uniform(-1, 1, 3)) for i in range(n)]
        if question["always"]:
            question["support_size"] = 1
        first = Instance.from_moments(moments_of(rows, k), **question)
        for j, row in enumerate(HOSTILE):
            changed = [*rows]
            changed[j % n] = row
            found.append((first, Instance.from_moments(moments_of(changed, j), **question)))
    # Thirty columns that are right where the first is wrong, and the other way round.
    arrays = []
    for sign in (1.0, -1.0):
        X, y = np.ones((20, 31)), np.ones(20)
        X[0, 0], X[0, 1:] = sign, -sign
        moments = Moments.of((X, y), x_bound=1.0, y_bound=1.0)
        arrays.append(Instance.from_moments(moments, support_size=1, coef_bound=0.5, ridge=1e-3))
    found.append((arrays[0], arrays[1]))
    return tuple(found)


def worst(draws: Any) -> float:
    """The largest |log ratio| over all supports and pairs, in units of ε = 1."""
    largest = 0.0
    for one, other in pairs():
        laws = [draws(instance) for instance in (one, other)]
        for support in top_supports(one, "all").supports:
            logs = [law.log_probability(support) for law in laws]
            largest = max(largest, abs(logs[0] - logs[1]))
    return largest


DRAWS = {
    "exponential": lambda instance: ExponentialMechanism(instance, 1.0),
    "top-r": lambda instance: TopR(top_supports(instance, 2), 1.0),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_from_moments_is_private(name: str) -> None:
    assert worst(DRAWS[name]) <= 1.0 + 1e-9


def test_half_the_oscillation_would_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Instance.oscillation.fget
    half = property(lambda self: 0.5 * true(self))
    monkeypatch.setattr(Instance, "oscillation", half)
    for instance in {id(i): i for pair in pairs() for i in pair}.values():
        instance.__dict__.pop("prepared", None)
    assert worst(DRAWS["exponential"]) > 1.05


def test_rounding_to_the_nearest_would_pass_the_bound_of_a_group() -> None:
    """Why entries are cut towards zero: a row of length 1 must not become longer."""
    row = np.full(9990, 655.6 / 2**16)
    assert np.linalg.norm(row) <= 1.0
    nearest = np.rint(row * 2**16) / 2**16
    assert np.linalg.norm(nearest) > 1.0
    assert np.linalg.norm(np.trunc(row * 2**16) / 2**16) <= 1.0
