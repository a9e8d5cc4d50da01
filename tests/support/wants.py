"""What tests are skipped for want of: each skip names it, and the end of a run lists them."""

from __future__ import annotations

from pathlib import Path
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


SHARED = Path(__file__).parents[3] / "shared"
DATA = SHARED / "data"
TABLES = DATA / "regression"

wants_data = wants("../shared/data", DATA.exists())
