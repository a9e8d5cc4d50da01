"""Plans of schemas with derived features: simulated columns that these are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mipselect.planning.guesses import Guesses
from mipselect.planning.simulation import Simulation
from mipselect.tables import PublicMap, TableSchema
from mipselect.tables.mapping import open_table, read_rows
from tests.support.derived_by_hand import CLINIC

SCHEMA = TableSchema.of(CLINIC)
NEVER = ["income", "age"]


def without_ranges() -> PublicMap:
    return PublicMap.without_ranges(SCHEMA, target="stay", never=NEVER)


@pytest.mark.parametrize(
    "public",
    [
        PublicMap.of(SCHEMA, target="stay", never=NEVER),
        PublicMap.of(SCHEMA, target="stay", always=["root of age", "weekday"]),
        without_ranges(),
        PublicMap.of(SCHEMA, target="log income"),
        PublicMap.of(SCHEMA, target="admission year"),
    ],
)
def test_a_simulated_table_has_the_columns_and_varies_in_every_feature(public: Any) -> None:
    simulated = Simulation(public, Guesses(), 2, seed=1, repeats=True)
    table = simulated.table(0, 3000)
    assert set(table.column_names) == set(public.names)
    assert simulated.table(0, 3000).equals(table)
    X, y, _ = read_rows(open_table(table, public), public)
    for encoder, block in zip(public.encoders, public.blocks, strict=True):
        columns = np.nan_to_num(X[:, block.start : block.stop].astype(float))
        assert (columns.std(axis=0) > 0.0).all(), encoder.field.name
    assert np.nanstd(y) > 0.0


def test_a_derived_feature_matters_where_it_is_drawn() -> None:
    public = PublicMap.of(SCHEMA, target="stay", never=NEVER)
    names = [encoder.field.name for encoder in public.features]
    simulated = Simulation(public, Guesses(effect=0.9), 1, seed=3)
    found = 0
    for number in range(40):
        (right,) = (names[j] for part in simulated.right(number) for j in part)
        X, y, _ = read_rows(open_table(simulated.table(number, 2000), public), public)
        r_squared = {}
        for encoder, block in zip(public.encoders, public.blocks, strict=True):
            design = np.column_stack([np.ones(len(y)), X[:, block.start : block.stop]])
            fit = design @ np.linalg.lstsq(design, y, rcond=None)[0]
            r_squared[encoder.field.name] = np.var(fit) / np.var(y)
        if right in {entry["name"] for entry in CLINIC["mipselect:features"]}:
            found += 1
            assert r_squared[right] > 0.6, (right, r_squared[right])
    assert found > 10


def test_only_fields_with_ranges_repeat_each_other() -> None:
    public = PublicMap.of(SCHEMA, target="stay", never=[])
    simulated = Simulation(public, Guesses(), 2, seed=1, repeats=True)
    names = [encoder.field.name for encoder in public.features]
    for number in range(20):
        assert {names[j] for j in simulated.right(number)[0]} <= {"age", "income", "visits"}
