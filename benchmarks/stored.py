"""Stored results: one JSON file a run, from which tables of the manual are written.

Folders in a command are stored as FOLDER, other interpreters as PYTHON. Of `mipselect plan --json`
each line at an ε is a record, and of the .csv of `mipselect reproduce` each line.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.declared import Record
from mipselect.disk import write_whole

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PACKAGES = ("mipselect", "numpy", "scipy", "scikit-learn")
DIGITS = 5
"""Significant digits of a number that is stored."""


@dataclass(frozen=True)
class StoredRun:
    """One run: what was run, when, where and with which seed, and what it found."""

    command: str
    date: str
    machine: str
    seed: str
    records: list[Record]
    versions: dict[str, str]
    entered_by_hand: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.records, list) or not self.records:
            raise ValueError("the records are no list, or an empty one")
        for place, record in enumerate(self.records):
            if not isinstance(record, dict):
                raise ValueError(f"record {place} is no object")
            for key, value in record.items():
                numbers = value if isinstance(value, list) else [value]
                kinds = (int, float) if isinstance(value, list) else (str, int, float)
                if not numbers or not all(isinstance(each, kinds) for each in numbers):
                    raise ValueError(f"record {place}: {key} is no text, number or list of numbers")

    @classmethod
    def read(cls, path: Path) -> StoredRun:
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        """Write a file with one record a line."""
        head = asdict(self)
        records = (json.dumps(_rounded(each), ensure_ascii=False) for each in head.pop("records"))
        begun = json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}")
        text = begun + ',\n "records": [\n  ' + ",\n  ".join(records) + "\n ]\n}\n"
        write_whole(path, text.encode())


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def records_of(printed: Any) -> Any:
    """The list that was printed, or the records in the object of `mipselect plan`."""
    of_plan = isinstance(printed, dict) and printed.get("command") == "plan"
    return _of_plan(printed) if of_plan else printed


def records_of_csv(path: Path) -> list[Record]:
    """Lines of a file with a heading; what is empty is left out."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            {key: _as_number(each) for key, each in line.items() if each}
            for line in csv.DictReader(lines)
        ]


def _as_number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _of_plan(printed: dict[str, Any]) -> list[Record]:
    """The numbers of every line at every ε, and those of models; what is null is left out."""
    found, epsilons = [], printed["epsilons"]
    for line in printed["lines"]:
        cells = zip(epsilons if line["cells"] else (), line["cells"], strict=True)
        named = {"line": line["method"], "tables": line["tables"]}
        found += [named | {"epsilon": epsilon} | cell for epsilon, cell in cells]
    chance = {"line": "chance level", "found": printed["chance_level"]}
    found += [chance | {"epsilon": epsilon} for epsilon in epsilons]
    model = printed["model"] or {"cells": []}
    for cell in model["cells"]:
        quality = cell.pop("quality") or {}
        found.append({"line": "model", "tables": model["tables"]} | cell | quality)
        without = {"line": "model without privacy", "expected": model["without_privacy"]}
        found.append(without | {"epsilon": cell["epsilon"]})
    return [{key: each for key, each in one.items() if each is not None} for one in found]


def print_records(records: Iterable[Record], *, as_json: bool) -> None:
    """Print one list, or each record as the line of a table once it is there."""
    if as_json:
        print(json.dumps(list(records)))
        return
    heads: list[str] = []
    for record in records:
        if list(record) != heads:
            heads = list(record)
            print(f"\n| {' | '.join(heads)} |\n{'| --- ' * len(heads)}|")
        cells = (fmean(each) if isinstance(each, list) else each for each in record.values())
        texts = (f"{each:.3g}" if isinstance(each, float) else f"{each}" for each in cells)
        print(f"| {' | '.join(texts)} |", flush=True)


def this_machine() -> str:
    """Cores and memory; no names."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB"


def as_typed(command: list[str]) -> str:
    """The command without the places of this machine."""
    program, *words = command
    if Path(program).name.startswith("python"):
        program = "python"
    return shlex.join([program, *map(_without_place, words)])


def _without_place(word: str) -> str:
    path = Path(word)
    if path.is_dir():
        return "FOLDER"
    return "PYTHON" if path.is_absolute() and path.name.startswith("python") else word


def typed(name: str, settings: Mapping[str, str], options: Any) -> str:
    """The command of a benchmark as it is typed."""
    words = ["python", "-m", "benchmarks", name, *(f"{key}={_without_place(each)}"
             for key, each in settings.items())]  # fmt: skip
    words += ["--quick"] if options.quick else []
    return shlex.join([*words, *(["--data", "FOLDER"] if options.data else [])])


def store(
    name: str, command: str, seeds: str, records: list[Record], day: date | None = None
) -> None:
    """Write docs/results/NAME.json."""
    versions = {"python": platform.python_version(), **{each: version(each) for each in PACKAGES}}
    day = day or date.today()
    run = StoredRun(command, day.isoformat(), this_machine(), seeds, records, versions)
    run.write(RESULTS / f"{name}.json")


def store_command(name: str, seeds: str, command: list[str], printed: Path | None) -> int:
    """Run a command, unless it has been, and store what it printed."""
    try:
        if printed is None:
            done = subprocess.run(command, stdout=subprocess.PIPE)
            if done.returncode:
                raise ValueError(f"the command ended with {done.returncode}")
            records, day = records_of(json.loads(done.stdout)), date.today()
        else:
            of_table = printed.suffix == ".csv"
            text = printed.read_bytes()
            records = records_of_csv(printed) if of_table else records_of(json.loads(text))
            day = date.fromtimestamp(printed.stat().st_mtime)
        store(name, as_typed(command), seeds, records, day)
    except ValueError as error:
        print(f"nothing is stored, for there is no list of records: {error}", file=sys.stderr)
        return 1
    return 0
