"""Data sets that lie beside the repository, and may be missing."""

from __future__ import annotations

from pathlib import Path

from tests.support.wants import wants

SHARED = Path(__file__).parents[3] / "shared"
DATA = SHARED / "data"
TABLES = DATA / "regression"

wants_data = wants("../shared/data", DATA.exists())
