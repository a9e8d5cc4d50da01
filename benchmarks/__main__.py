"""Run a benchmark, and print or store what it finds.

python -m benchmarks --list
python -m benchmarks NAME [SETTING=VALUE,... ...] [--data FOLDER] [--quick] [--json]
python -m benchmarks NAME --store RESULTS
python -m benchmarks command --store RESULTS --seeds TEXT [--records FILE] -- COMMAND ...

Every cell of a benchmark runs in a process of its own. What is measured is kept in --output until
all is; after an interruption the same command goes on. --store writes docs/results/RESULTS.json,
whole or not at all. "command" stores what another command prints: a list of records, or the --json
of `mipselect plan`; with --records what an earlier run printed, or the .csv of `mipselect
reproduce`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    from benchmarks import stored
    from benchmarks.declared import benchmarks
    from mipselect.errors import MipselectError
    from mipselect_papers.runner import Trial, run

    given = sys.argv[1:] if arguments is None else arguments
    given, command = _cut(given)
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE,...")
    parser.add_argument("--list", action="store_true", help="name every benchmark")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it works")
    parser.add_argument("--data", type=Path, help="folder of tables")
    parser.add_argument("--output", type=Path, default=Path("benchmarked"), help="folder")
    parser.add_argument("--json", action="store_true", help="print one list of records")
    parser.add_argument("--store", metavar="RESULTS", help="name of a file in docs/results")
    parser.add_argument("--seeds", help="of a command: its seeds, in words")
    parser.add_argument("--records", type=Path, help="of a command: what it has printed before")
    options = parser.parse_intermixed_args(given)
    if options.name == "command" and command and options.store and options.seeds:
        return stored.store_command(options.store, options.seeds, command, options.records)
    known = {one.name: one for one in benchmarks()}
    if options.list:
        for name, one in known.items():
            print(f"{name:<20} {(one.measure.__doc__ or '').strip().splitlines()[0]}")
        return 0
    if options.name not in known:
        parser.error(f"which benchmark? {', '.join(known)}, or command")
    chosen = known[options.name]
    try:
        settings = dict(each.split("=", 1) for each in options.settings)
        cells = chosen.cells(settings, quick=options.quick, data=options.data)
        options.output.mkdir(exist_ok=True)
        file = options.output / f"{chosen.name}.jsonl"
        trials = [Trial(chosen.name, cell) for cell in cells]
        rows, failed = run(trials, file, apart=True)
    except MipselectError as error:
        print(error, file=sys.stderr)
        return 1
    except ValueError as error:
        parser.error(f"a setting is NAME=VALUE: {error}")
    for trial, row in failed:
        print(f"{trial.recipe.title}: {row['remark']}", file=sys.stderr)
    if failed:
        return 1
    records = chosen.summary([record for row in rows for record in row["readings"]])
    if options.store:
        stored.store(options.store, stored.typed(chosen.name, settings, options), chosen.seeds,
                     records)  # fmt: skip
    stored.print_records(records, as_json=options.json)
    file.unlink()
    return 0


def _cut(given: list[str]) -> tuple[list[str], list[str]]:
    """What is before and behind "--"."""
    place = given.index("--") if "--" in given else len(given)
    return given[:place], given[place + 1 :]


if __name__ == "__main__":
    sys.exit(main())
