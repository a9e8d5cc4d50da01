"""The budget of a ledger over time, as a figure. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from mipselect.pictures import as_file, plain_style
from mipselect.privacy import Ledger
from mipselect.privacy.ledger.accountant import Account
from mipselect.privacy.ledger.entries import LedgerEntry

INCHES = (6.4, 3.6)
SPENT, BUDGET = "#332288", "#882255"


def ledger_figure(ledger: Ledger, entries: Sequence[LedgerEntry], suffix: str) -> bytes:
    """Return the figure as a file with this suffix: what was spent after each entry.

    Where the clock went back, an entry stands at the time of the one before it.
    """
    from matplotlib import dates
    from matplotlib.figure import Figure

    budget = ledger.budget
    counts_rho = ledger.currency == "rho"
    limit = float(budget.rho or 0.0) if counts_rho else budget.epsilon
    times, spent = _course(ledger, entries)
    with plain_style():
        figure = Figure(figsize=INCHES, layout="constrained")
        axes = figure.subplots()
        axes.step(
            dates.date2num(times),
            spent,
            where="post",
            color=SPENT,
            marker="o",
            markersize=3,
            label="spent",
        )
        axes.axhline(limit, color=BUDGET, linestyle="--", label="budget")
        locator = dates.AutoDateLocator()
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        axes.set(xlabel="time (UTC)", ylabel="ρ" if counts_rho else "ε", ylim=(0.0, None))
        axes.set_title(f"Privacy budget under {ledger.relation}, one row = one {ledger.unit}")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        return as_file(figure, suffix)


def _course(ledger: Ledger, entries: Sequence[LedgerEntry]) -> tuple[list[datetime], list[float]]:
    """Return the times of the entries, never falling, and what was spent up to each."""
    account = Account(ledger.terms)
    times, spent = [datetime.fromisoformat(ledger.rows()[0].time)], [0.0]
    for entry in entries:
        times.append(max(datetime.fromisoformat(entry.time), times[-1]))
        account.add(entry)
        spent.append(account.paid)
    return times, spent
