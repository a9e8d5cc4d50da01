"""How far draws go from a uniform one (0) to the best support (1), on all tables of a folder.

python -m benchmarks.real_tables FOLDER [--rows all,6000,2000,500] [--methods "loss,R² rule"]
    [--epsilons 0.05,0.1,...] [--sizes 3] [--tables NAME,...] [--repeats 2] [--classes] [--stress]
    [--json]

The way is that of R² of least squares on the drawn fields, over all rows of the table, in
expectation over the draw: by the probabilities of all supports, or over 200 draws of SIS and votes,
which is sample and aggregate, takes half a minute a table, and runs only if it is named.
Standard errors are over tables, and over repeats: other rows of the table, and other partitions.
Partitions are seeded, and where a table has no schema its ranges are made up from its rows: nothing
here is private. Beside NAME.csv, NAME.csv.gz or NAME.parquet may stand NAME.schema.json and, with
target, never and size, NAME.question.json; scikit-learn's diabetes data are added.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.class_tables import class_tables
from benchmarks.methods_of_tables import METHODS
from benchmarks.stored import add_json_option, print_records
from benchmarks.stress_tables import stress_tables
from benchmarks.tables_at_hand import Table, diabetes, tables_of

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
ENOUGH_ROWS = 4_000
"""Averages are over tables of no fewer rows, or over all where fewer are drawn."""

Found = dict[tuple[str, str, float], list[float]]
"""The ways of all repeats by method, table and ε."""


def ways_of(tables: list[Table], rows: int | None, options: argparse.Namespace) -> Found:
    found: Found = defaultdict(list)
    for table in tables:
        if rows is not None and rows >= len(table.frame):
            continue
        of_supports = table.ways()
        for repeat in range(options.repeats):
            some = table if rows is None else table.drawn(rows, repeat)
            for name in options.methods:
                start = time.perf_counter()
                for epsilon, law in METHODS[name](some, repeat, options.epsilons).items():
                    found[name, table.name, epsilon].append(float(law @ of_supports))
                spent = time.perf_counter() - start
                print(f"{table.name}, {len(some.frame)}, {name}: {spent:.1f} s", file=sys.stderr)
    return found


def mean_with_error(values: list[float]) -> tuple[float, float]:
    if len(values) == 1:
        return values[0], 0.0
    return float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)


def over_tables(found: Found, name: str, tables: list[str], epsilon: float) -> tuple[float, float]:
    return mean_with_error([float(np.mean(found[name, table, epsilon])) for table in tables])


def print_tables(found: Found, tables: list[str], options: argparse.Namespace) -> None:
    heads = " | ".join(f"ε = {epsilon:g}" for epsilon in options.epsilons)
    print(f"\n| mean of {len(tables)} tables | {heads} |")
    print("| --- " * (len(options.epsilons) + 1) + "|")
    for name in options.methods:
        means = [over_tables(found, name, tables, e) for e in options.epsilons]
        print(f"| {name} |", " | ".join(f"{m:.2f} ±{error:.2f}" for m, error in means), "|")
    for table in sorted({table for _, table, _ in found}):
        print(f"\n| {table} | {heads} |")
        print("| --- " * (len(options.epsilons) + 1) + "|")
        for name in options.methods:
            means = [mean_with_error(found[name, table, e]) for e in options.epsilons]
            print(f"| {name} |", " | ".join(f"{m:.2f} ±{error:.2f}" for m, error in means), "|")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def listed(text: str) -> list[str]:
        return [part.strip() for part in text.split(",")]

    def numbers(text: str) -> list[float]:
        return [float(part) for part in listed(text)]

    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--rows", type=listed, default=["all", "6000", "2000", "500"])
    parser.add_argument("--methods", type=listed, default=[m for m in METHODS if m != "votes"])
    parser.add_argument("--epsilons", type=numbers, default=list(EPSILONS))
    parser.add_argument(
        "--sizes", type=int, help="fields to draw; default as many as can be listed"
    )
    parser.add_argument("--tables", type=listed, help="these alone")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--classes", action="store_true", help="targets of two classes instead")
    parser.add_argument("--stress", action="store_true", help="generated tables")
    add_json_option(parser)
    options = parser.parse_args()
    for name in options.methods:
        if name not in METHODS:
            parser.error(f"no method {name!r}; there are {', '.join(METHODS)}")
    if options.folder is None and not (options.stress or options.classes):
        parser.error("give a folder of tables, --classes or --stress")
    return options


def scored_tables(options: argparse.Namespace) -> list[Table]:
    tables = [] if options.folder is None else [*tables_of(options.folder), diabetes()]
    if options.classes:
        tables = class_tables(options.folder)
    if options.stress:
        tables += stress_tables()
    if options.tables is not None:
        tables = [table for table in tables if table.name in options.tables]
    if options.sizes is not None:
        tables = [replace(table, size=options.sizes) for table in tables]
    return tables


def main() -> None:
    options = parsed()
    tables = scored_tables(options)
    report = []
    for text in options.rows:
        rows = None if text == "all" else int(text)
        found = ways_of(tables, rows, options)
        there = [
            t.name for t in tables if (options.methods[0], t.name, options.epsilons[0]) in found
        ]
        large = [
            t.name
            for t in tables
            if t.name in there and (rows is not None or len(t.frame) >= ENOUGH_ROWS)
        ]
        report += [
            {"rows": text, "method": name, "table": table, "epsilon": epsilon, "ways": ways}
            for (name, table, epsilon), ways in found.items()
        ]
        if not options.json:
            print(f"\n## rows: {text}")
            for table in tables:
                ranges = "a schema" if table.stated else "ranges made up from its rows"
                print(
                    f"- {table.name}: {len(table.frame):,} rows, {table.n_features} fields, "
                    f"{table.support_size} drawn, widest field {table.widest}, {ranges}"
                )
            print_tables(found, large or there, options)
    if options.json:
        print_records(report, as_json=True)


if __name__ == "__main__":
    main()
