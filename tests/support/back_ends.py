"""The back ends that a test runs on: all that are known, those that are missing as skips."""

from __future__ import annotations

import pytest

from mipselect.backends.discovery import known_solvers
from mipselect.backends.protocols import Capability
from tests.support.wants import wants


def back_ends(*needed: Capability) -> list:
    """Parameters: the name of every known back end with these capabilities."""
    return [
        pytest.param(name, id=name, marks=wants(f"{name}: {status.reason}", status.usable))
        for name, status in known_solvers().items()
        if set(needed) <= status.capabilities
    ]
