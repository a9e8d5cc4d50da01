"""How often each field is in a draw of `select` from two tables with careful schemas.

python -m benchmarks.wine_and_bikes FOLDER [--json]

FOLDER has winequality_white.csv.gz and bike_sharing_hour.csv.gz. The way is that of
`benchmarks.real_tables`, by the exact probabilities of all supports; "default" is what `select`
does without an option, "loss" the loss on the ranges of the schema. Partitions are seeded: nothing
here is private.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.methods_of_tables import METHODS
from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.tables_at_hand import Table, tables_of

SIZES = {"winequality_white": 3, "bike_sharing_hour": 4}
EPSILONS = (0.1, 0.5, 1.0, 2.0)


def of_table(table: Table) -> Iterator[Record]:
    ways, supports = table.ways(), table.supports()
    names = [encoder.field.name for encoder in table.unscaled.features]
    for method in ("default", "loss"):
        for epsilon, law in METHODS[method](table, 0, EPSILONS).items():
            drawn = {name: float(law @ (supports == j).any(axis=1)) for j, name in enumerate(names)}
            named = {"table": table.name, "method": method, "epsilon": epsilon}
            yield {**named, "way": float(law @ ways), **drawn}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    add_json_option(parser)
    options = parser.parse_args()
    tables = [
        replace(table, size=SIZES[table.name])
        for table in tables_of(options.folder)
        if table.name in SIZES
    ]
    found = (record for table in tables for record in of_table(table))
    print_records(found, as_json=options.json)


if __name__ == "__main__":
    main()
