"""The published ordering on the microarrays of the DP-SIS paper; skipped without them."""

from __future__ import annotations

from statistics import fmean

import pytest

from mipselect_papers.sis.accuracy import FIVE, OnMicroarray
from mipselect_papers.sis.setting import DP_SIS, TWO_STAGE
from mipselect_papers.sources import MICROARRAYS, DataSource
from tests.support.shared_data import DATA, wants_data

pytestmark = wants_data


@pytest.mark.parametrize("name", ["christensen", "sorlie"])
def test_screening_finds_more_of_the_reference_than_two_stages(name: str) -> None:
    source = DataSource.found(MICROARRAYS, DATA / "microarray")
    recipe = OnMicroarray((7.0, 10.0), log_d=False, table=name)
    readings = [r for seed in range(40) for r in recipe.measure(1, seed, source)]
    assert {reading.metric for reading in readings} == {FIVE.key}

    def accuracy(method: str, epsilon: float) -> float:
        return fmean(r.value or 0.0 for r in readings if (r.method, r.x) == (method, epsilon))

    for epsilon, margin in ((7.0, 0.3), (10.0, 0.15)):
        assert accuracy(DP_SIS, epsilon) > accuracy(TWO_STAGE, epsilon) + margin
