"""Kill processes that draw from one ledger at random moments, and count what came of it.

    python -m tests.soak.ledger_faults [KILLS]

Every draw writes its name to a file the moment it is made, after the ledger was charged for it.
Afterwards no draw may be without a charge, no budget overdrawn, and every ledger whole.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from threading import Thread
from typing import Any

from mipselect.errors import BudgetExceeded
from mipselect.privacy import Guarantee, Ledger

PROCESSES = 8
KILLS = 10_000
KILLS_OF_ONE_LEDGER = 250
COST = 0.1
BUDGETS = (3.0, 6.0, 12.0)


@dataclass
class Figures:
    """What came of a storm of kills."""

    kills: int = 0
    killed_in_a_charge: int = 0
    ledgers: int = 0
    emptied_ledgers: int = 0
    charges: int = 0
    draws: int = 0
    charges_without_a_draw: int = 0
    draws_without_a_charge: int = 0
    overdrawn: int = 0
    broken: int = 0

    def add(self, other: Figures) -> None:
        for field in fields(self):
            name = field.name
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def hold(self) -> bool:
        return self.draws_without_a_charge == self.overdrawn == self.broken == 0


def draw(ledger: Ledger, log: Path, name: str) -> None:
    """One draw: it is paid for, then its name is seen."""
    with ledger.charged(Guarantee(COST), name):
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, f"{name}\n".encode())
        os.close(descriptor)


def draw_on(ledger: Ledger, log: Path, name: str) -> None:
    """Draw until the budget is spent."""
    with contextlib.suppress(BudgetExceeded):
        for number in range(1000):
            draw(ledger, log, f"{name}-{number}")


def in_threads(ledger: Ledger, log: Path, name: str) -> None:
    """The same in two threads."""
    threads = [Thread(target=draw_on, args=(ledger, log, f"{name}-{k}")) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def storm(folder: Path, kills: int, seed: int) -> Figures:
    """Kill `kills` processes that draw from one ledger, eight at a time; look at what is left."""
    dice = random.Random(seed)
    path, log = folder / f"{seed}.ledger", folder / f"{seed}.log"
    ledger = Ledger.create(path, epsilon=dice.choice(BUDGETS))
    log.touch()
    figures = Figures(kills=kills, ledgers=1)
    running: dict[int, float] = {}
    begun = 0
    while begun < kills or running:
        while begun < kills and len(running) < PROCESSES:
            work = in_threads if dice.random() < 0.25 else draw_on
            child = forked(work, ledger, log, f"{seed}-{begun}")
            running[child] = time.monotonic() + dice.expovariate(1 / 0.03)
            begun += 1
        child, when = min(running.items(), key=lambda item: item[1])
        time.sleep(max(0.0, when - time.monotonic()))
        figures.killed_in_a_charge += Path(f"{path}-journal").exists()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        del running[child]
    judge(figures, path, log)
    return figures


def judge(figures: Figures, path: Path, log: Path) -> None:
    """Open the ledger again, check it, and compare it with what was drawn."""
    again = Ledger.open(path)
    try:
        again.verify()
    except Exception as error:  # noqa: BLE001
        print(f"{path}: {error}", file=sys.stderr)
        figures.broken += 1
        return
    charged = Counter(entry.what for entry in again.entries)
    drawn = Counter(log.read_text().split())
    figures.charges += charged.total()
    figures.draws += drawn.total()
    figures.draws_without_a_charge += (drawn - charged).total()
    figures.charges_without_a_draw += (charged - drawn).total()
    figures.overdrawn += charged.total() * COST > again.budget.epsilon * (1 + 1e-9)
    figures.emptied_ledgers += again.remaining.epsilon < COST


def forked(work: Callable[[Any, Path, str], None], ledger: Ledger, log: Path, name: str) -> int:
    """Do `work` in a child; return its number."""
    child = os.fork()
    if child == 0:
        try:
            work(ledger, log, name)
        finally:
            os._exit(0)
    return child


def storms(kills: int, folder: Path) -> Figures:
    """Storms over as many ledgers as it takes."""
    figures = Figures()
    for seed in range(0, kills, KILLS_OF_ONE_LEDGER):
        figures.add(storm(folder, min(KILLS_OF_ONE_LEDGER, kills - seed), seed))
    return figures


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    with tempfile.TemporaryDirectory() as folder:
        figures = storms(kills, Path(folder))
    for field in fields(figures):
        print(f"{field.name.replace('_', ' ')}: {getattr(figures, field.name):,}")
    print("holds" if figures.hold else "DOES NOT HOLD")
    return 0 if figures.hold else 1


if __name__ == "__main__":
    sys.exit(main())
