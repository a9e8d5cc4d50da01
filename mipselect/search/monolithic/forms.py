"""Names of the ways to state a problem; imports nothing that takes long."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """Ways in which the binary variables switch the coefficients."""

    PERSPECTIVE = "perspective"
    BIG_M = "big-m"


class Formulation(StrEnum):
    """Ways to state the problem: by cuts, or as one whole model, of any form or a certain one."""

    CUTS = "cuts"
    WHOLE = "whole"
    PERSPECTIVE = "perspective"
    BIG_M = "big-m"
