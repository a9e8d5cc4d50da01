"""Names of the ways to state a problem; imports nothing that takes long."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """Ways in which the binary variables switch the coefficients."""

    PERSPECTIVE = "perspective"
    BIG_M = "big-m"
