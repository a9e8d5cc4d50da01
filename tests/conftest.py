"""Shared by all tests: `designs` is importable, and external data is found or the test skips."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parent.parent
