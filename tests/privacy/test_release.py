from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest

from mipselect.privacy import Guarantee, Release

PRIVATE = Release((1, 4), ("bmi", "s5"), Guarantee(1.0), "top-r", True)
SEEDED = Release((1, 4), ("bmi", "s5"), Guarantee(1.0), "top-r", False)


def test_a_private_release_reads_as_two_sentences() -> None:
    assert str(PRIVATE) == (
        "top-r selected bmi (1), s5 (4).\n"
        "It is 1-differentially private (pure), replacing one row; no further condition."
    )


def test_a_seeded_release_is_loud() -> None:
    assert str(SEEDED).startswith("NOT PRIVATE")
    assert "It is " not in str(SEEDED)


def test_it_is_ready_for_json() -> None:
    assert json.loads(json.dumps(SEEDED.to_dict())) == {
        "mechanism": "top-r",
        "support": [1, 4],
        "feature_names": ["bmi", "s5"],
        "private": False,
        "guarantee": {
            "epsilon": 1.0,
            "delta": 0.0,
            "relation": "replace-one",
            "conditions": [],
        },
    }


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        SEEDED.private = True
