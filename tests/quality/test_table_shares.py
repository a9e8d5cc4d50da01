"""The exact law of released shares on hostile neighbours, their intervals, and who pays."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import Guarantee, Ledger
from mipselect.errors import BudgetExceeded, InvalidInput, RelationMismatch
from mipselect.quality import release_shares, table_shares
from mipselect.quality.table_shares import half_width, shares_of
from mipselect.tables import TableSchema
from mipselect.tables.check.kinds import KINDS, rules_of
from mipselect.tables.check.one_each import kind_counts
from mipselect.tables.mapping import open_columns
from tests.support.discrete_laplace import discrete_laplace_log_probability

EPSILON = 0.7
CONTENT: dict[str, Any] = {
    "missingValues": ["", "NA"],
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "dose", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
        {"name": "ward", "type": "string", "categories": ["a", "b", "c"]},
        {"name": "level", "type": "integer", "categories": [1, 2, 3]},
        {"name": "died", "type": "boolean"},
        {"name": "day", "type": "date"},
    ],
}
SCHEMA = TableSchema.of(CONTENT)
PEOPLE = TableSchema.of({**CONTENT, "csvw-eo:privacyUnit": "id"})
Row = tuple[str | None, ...]

ROWS: list[Row] = [
    ("p", "0.5", "a", "1", "true", "2020-01-31"),
    ("q", "NA", "b", "", "false", "2020-02-01"),
    ("q", "9", "x", "7", "maybe", "yesterday"),
    ("r", "-1", "c", "3", "true", ""),
]
EXTREMES: list[Row] = [
    ("p", "0.2", "b", "2", "false", "2021-01-31"),
    ("p", "much", "\udce9", "some", "\udce9", "1.1.2020"),
    ("new", "1e999", "z", "1.5", "", "NA"),
    (None, None, None, None, None, None),
]


def table(rows: Sequence[Row]) -> pa.Table:
    names = [field["name"] for field in CONTENT["fields"]]
    cells = [[row[k] for row in rows] for k in range(len(names))]
    return pa.table(
        {
            name: pa.array(
                [None if c is None else c.encode("utf-8", "surrogateescape") for c in column],
                pa.binary(),
            )
            for name, column in zip(names, cells, strict=True)
        }
    )


@dataclass(frozen=True)
class Noisy:
    """Counts that are released, and the scale of the noise on each of them."""

    counts: tuple[int, ...]
    scales: tuple[float, ...]


def law(monkeypatch: pytest.MonkeyPatch, draw: Callable[[], object], shrunk: float = 1.0) -> Noisy:
    """The counts and scales that a release adds noise to: all that its law depends on."""
    counts: list[int] = []
    scales: list[float] = []

    def noisy(sums: Sequence[int], moves: int, epsilon: Fraction, source: Any) -> list[int]:
        counts.extend(sums)
        scales.extend([shrunk * float(moves / epsilon)] * len(sums))
        return list(sums)

    monkeypatch.setattr(table_shares, "noisy", noisy)
    draw()
    return Noisy(tuple(counts), tuple(scales))


def largest_loss(one: Noisy, other: Noisy) -> float:
    """The largest log ratio of the two laws over all outcomes, cell by cell, both ways."""
    assert one.scales == other.scales
    both = 0.0
    for a, b in ((one.counts, other.counts), (other.counts, one.counts)):
        total = 0.0
        for here, there, scale in zip(a, b, one.scales, strict=True):
            outcomes = range(min(here, there) - 3, max(here, there) + 4)
            total += max(
                discrete_laplace_log_probability(o - here, scale)
                - discrete_laplace_log_probability(o - there, scale)
                for o in outcomes
            )
        both = max(both, total)
    return both


def neighbours(relation: str) -> Iterator[tuple[list[Row], list[Row]]]:
    """Pairs of tables of rows, each of which is one of a person."""
    if relation == "add-remove":
        yield from ((ROWS, [*ROWS, row]) for row in EXTREMES)
        yield [], [EXTREMES[0]]
    else:
        yield from (([*ROWS, a], [*ROWS, b]) for a, b in product(EXTREMES, EXTREMES) if a is not b)


def worst(
    monkeypatch: pytest.MonkeyPatch,
    pairs: Iterator[tuple[list[Row], list[Row]]],
    relation: str,
    schema: TableSchema = SCHEMA,
    shrunk: float = 1.0,
    **more: Any,
) -> float:
    found = 0.0
    for pair in pairs:
        laws = [
            law(
                monkeypatch,
                lambda rows=rows: release_shares(  # type: ignore[misc]
                    table(rows), schema, epsilon=EPSILON, relation=relation, **more
                ),
                shrunk,
            )
            for rows in pair
        ]
        found = max(found, largest_loss(*laws))
    return found


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_shares_keep_epsilon_on_hostile_pairs_and_use_it(
    monkeypatch: pytest.MonkeyPatch, relation: str
) -> None:
    loss = worst(monkeypatch, neighbours(relation), relation)
    assert 0.8 * EPSILON < loss <= EPSILON * (1.0 + 1e-9)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_half_of_the_noise_would_not_keep_it(
    monkeypatch: pytest.MonkeyPatch, relation: str
) -> None:
    assert worst(monkeypatch, neighbours(relation), relation, shrunk=0.5) > 1.5 * EPSILON


def pairs_of_people(relation: str) -> Iterator[tuple[list[Row], list[Row]]]:
    """One person with many rows is replaced by another, or added, in any order of the rows."""
    stays = [ROWS[0], ROWS[3]]
    one = [("s", *row[1:]) for row in (EXTREMES[0], EXTREMES[1], EXTREMES[2])]
    other = [("t", *row[1:]) for row in (EXTREMES[1], EXTREMES[3])]
    good = [("s", *EXTREMES[0][1:])] * 3
    nobody = [(None, *row[1:]) for row in (EXTREMES[1], EXTREMES[0])]
    for first in permutations(one):
        rows: list[Row] = [stays[0], *first, stays[1]]
        if relation == "add-remove":
            yield stays, rows
        else:
            yield rows, [*other, *stays]
            yield [*good, *stays], [*other, other[0], *stays]
            yield rows, [stays[0], nobody[0], stays[1], nobody[1]]


@pytest.mark.parametrize("rule", ["first", "last", "mean"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_person_with_all_rows_is_protected(
    monkeypatch: pytest.MonkeyPatch, relation: str, rule: str
) -> None:
    pairs = pairs_of_people(relation)
    loss = worst(monkeypatch, pairs, relation, PEOPLE, unit_rule=rule)
    assert 0.8 * EPSILON < loss <= EPSILON * (1.0 + 1e-9)
    # Without the person in the schema, rows of one move everything.
    assert worst(monkeypatch, pairs_of_people(relation), relation) > 1.5 * EPSILON


def counted(rows: Sequence[Row], schema: TableSchema, rule: str, chunk: int) -> dict[str, Any]:
    rules = rules_of(schema)
    name = schema.privacy_unit
    unit = None if name is None else schema.field(name, "unit")
    source = pa.Table.from_batches(table(rows).to_batches(max_chunksize=chunk))
    names = [rule.name for rule in rules] + ([] if name is None else [name])
    people, counts = kind_counts(open_columns(source, names), rules, unit, rule)
    return {
        "people": people,
        **{
            rule.name: {KINDS[k]: n for k, n in enumerate(own) if n}
            for rule, own in zip(rules, counts.tolist(), strict=True)
        },
    }


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_one_row_of_each_person_counts(chunk: int) -> None:
    first = counted(ROWS, PEOPLE, "first", chunk)
    assert first["people"] == 3
    assert first["dose"] == {"fine": 1, "missing": 1, "below": 1}
    last = counted(ROWS, PEOPLE, "last", chunk)
    assert last["dose"] == {"fine": 1, "above": 1, "below": 1}
    assert last["ward"] == {"fine": 2, "unlisted": 1}
    assert last["day"] == {"fine": 1, "missing": 1, "unreadable": 1}
    assert counted(ROWS, PEOPLE, "mean", chunk) == first
    assert counted(ROWS, SCHEMA, "first", chunk)["people"] == 4


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(2), Fraction(71, 3)])
@pytest.mark.parametrize("outside", [0.5, 0.1, 1e-4])
def test_the_interval_is_the_narrowest_that_holds_the_noise(
    scale: Fraction, outside: float
) -> None:
    half = half_width(scale, outside)

    def beyond(h: int) -> float:
        return 1.0 - sum(
            np.exp(discrete_laplace_log_probability(k, float(scale))) for k in range(-h, h + 1)
        )

    assert beyond(half) <= outside + 1e-12
    assert half == 0 or beyond(half - 1) > outside


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_intervals_hold_the_shares_as_often_as_they_say(relation: str) -> None:
    rules = rules_of(SCHEMA)
    counts = np.zeros((len(rules), len(KINDS)), np.int64)
    for k, rule in enumerate(rules):
        for m, kind in enumerate(rule.kinds):
            counts[k, kind] = 40 + 30 * m
        counts[k, 0] += 600 - counts[k].sum()
    source, held, cells, alarms = random.Random(1), 0, 0, 0
    guarantee = Guarantee(1.0, relation=relation)
    for _ in range(300):
        found = shares_of(600, counts, rules, guarantee, "row", source)
        for k, field in enumerate(found.fields):
            truth = [counts[k, KINDS.index(share.name)] / 600 for share in field.shares]
            held += sum(
                s.low - 1e-12 <= t <= s.high + 1e-12
                for s, t in zip(field.shares, truth, strict=True)
            )
            alarms += any(low > t for low, t in zip(field.at_least, truth, strict=True))
            cells += len(truth)
    assert 0.88 < held / cells < 0.94
    assert alarms / 300 < 0.1


def test_a_share_of_nearly_all_rows_knows_that_it_is_in_the_number_of_rows() -> None:
    """The error of c/(c + others) near 1 is that of the others alone: three cells of four."""
    rules = rules_of(TableSchema.of({"fields": [CONTENT["fields"][2]]}))
    counts = np.zeros((1, len(KINDS)), np.int64)
    counts[0, KINDS.index("unlisted")] = 100_000
    guarantee = Guarantee(1.0, relation="add-remove")
    found = shares_of(100_000, counts, rules, guarantee, "row", random.Random(0))
    share = found.fields[0].share("unlisted")
    deviation = np.sqrt(0.5) / np.sinh(0.5)
    reach = np.log(10.0) / np.sqrt(2.0) * np.sqrt(3.0) * deviation / 100_000
    assert share.value is not None
    assert 0.8 * reach < share.value - share.low < 1.2 * reach  # The upper end is cut off at 1.


def test_under_add_remove_nothing_tells_the_number_of_rows() -> None:
    found = release_shares(table(ROWS), SCHEMA, epsilon=1.0, relation="add-remove")
    assert found.rows is None
    assert found.to_dict()["rows"] is None
    assert release_shares(table([]), SCHEMA, epsilon=1.0, relation="add-remove").rows is None
    assert release_shares(table([]), SCHEMA, epsilon=1.0).rows == 0
    assert release_shares(table(ROWS), SCHEMA, epsilon=1.0).rows == 4


def test_the_findings_are_of_the_noisy_shares_alone() -> None:
    """Post-processing: from the released numbers and the schema, the same lines follow."""
    rows = [ROWS[2]] * 3000
    found = release_shares(table(rows), SCHEMA, epsilon=2.0, random_state=4)
    lines = [str(finding) for finding in found.findings]
    assert any("ward: at least 9" in line and "in no list" in line for line in lines)
    assert any("dose: at least 9" in line and "maximum 1;" in line for line in lines)
    assert not any("'x'" in line or "yesterday" in line for line in lines)
    again = replace(found.fields[0]).findings
    assert again == found.fields[0].findings
    wide = release_shares(table(ROWS), SCHEMA, epsilon=0.5, random_state=0)
    assert [finding.about for finding in wide.findings] == ["the noise"]


def test_a_ledger_pays_before_a_row_is_read() -> None:
    read = []

    class Rows:
        """A stream that notes that it is read."""

        def __arrow_c_stream__(self, requested: Any = None) -> Any:
            def batches() -> Iterator[pa.RecordBatch]:
                read.append(ledger.spent.epsilon)
                yield from table(ROWS).to_batches()

            schema = table(ROWS).schema
            return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__()

    ledger = Ledger(1.0)
    release_shares(Rows(), SCHEMA, epsilon=0.75, ledger=ledger)
    assert read == [0.75]
    with pytest.raises(BudgetExceeded):
        release_shares(Rows(), SCHEMA, epsilon=0.75, ledger=ledger)
    with pytest.raises(RelationMismatch):
        release_shares(Rows(), SCHEMA, epsilon=0.1, relation="add-remove", ledger=ledger)
    assert read == [0.75]
    found = release_shares(Rows(), SCHEMA, epsilon=0.25, ledger=ledger, random_state=3)
    assert not found.guarantee.private
    assert ledger.remaining.epsilon == 0.0


def test_what_is_wrong_is_said_before_anything_is_charged(tmp_path: Path) -> None:
    ledger = Ledger(1.0)
    for words, question in (
        ("epsilon", {"epsilon": 0.0}),
        ("relation", {"epsilon": 0.1, "relation": "swap"}),
        ("unit_rule", {"epsilon": 0.1, "unit_rule": "last"}),
        ("did you mean 'ward'", {"epsilon": 0.1, "never": ["wards"]}),
        ("no column", {"epsilon": 0.1, "source": pa.table({"dose": [1.0]})}),
    ):
        source = question.pop("source", table(ROWS))
        with pytest.raises(InvalidInput, match=words):
            release_shares(source, SCHEMA, ledger=ledger, **question)  # type: ignore[arg-type]
    assert ledger.remaining.epsilon == 1.0
