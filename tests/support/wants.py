"""What tests are skipped for want of: each skip names it, and the end of a run adds it up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator
from typing import NoReturn

import pytest

WANT = "for want of "


def wants(what: str, there: bool) -> pytest.MarkDecorator:
    """Mark tests that are skipped where something is not there."""
    return pytest.mark.skipif(not there, reason=WANT + what)


def skip_for_want_of(what: str) -> NoReturn:
    """Skip the test that runs."""
    __tracebackhide__ = True
    pytest.skip(WANT + what)


def wanted(reason: str) -> str:
    """Read what is missing in a reason, which may say after a colon how to get it."""
    found = re.fullmatch(rf"(?:Skipped: )?(?:{WANT}([^:]+)|could not import '([^']+)').*", reason)
    return found[1] or found[2] if found else reason


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, None, None]:
    """Say it below everything else."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    counts = Counter(wanted(report.longrepr[2]) for report in skipped)
    if counts:
        each = [f"{what} ({n} test{'s' * (n > 1)})" for what, n in sorted(counts.items())]
        terminalreporter.write_line(f"skipped for want of: {', '.join(each)}")
