from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from mipselect.errors import InvalidInput
from mipselect.privacy import Guarantee, Release

PRIVATE = Release((1, 4), ("bmi", "s5"), Guarantee(1.0), "top-r", True)
SEEDED = Release((1, 4), ("bmi", "s5"), Guarantee(1.0), "top-r", False)


def test_a_private_release_reads_as_two_sentences() -> None:
    assert str(PRIVATE) == (
        "top-r selected bmi (1), s5 (4).\n"
        "It is 1-differentially private (pure), replacing one row; no further condition."
    )


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
            "private": False,
        },
    }


def test_the_mark_of_a_seed_is_on_the_guarantee_too() -> None:
    assert SEEDED.guarantee == replace(Guarantee(1.0), private=False)
    assert not Release((1,), (), replace(Guarantee(1.0), private=False), "top-r", True).private


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_names": (pa.chunked_array([[1.5, 2.5]]), pa.chunked_array([[1.5, 2.5]]))},
        {"feature_names": (1.5, 2.5)},
        {"feature_names": ("bmi", "s5\n1.5, 2.5")},
        {"feature_names": ("bmi", "\x1b]0;owned\x07")},
        {"feature_names": ("bmi", "5" * 201)},
        {"feature_names": ("bmi",)},
        {"feature_names": "b"},
        {"mechanism": 1.5},
        {"mechanism": "top-r\n[1.5, 2.5]"},
        {"support": (1.5, 2.5)},
        {"support": (-1, 2)},
        {"guarantee": 1.0},
        {"private": "yes"},
    ],
)
def test_nothing_but_a_choice_can_leave_in_it(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        replace(PRIVATE, **changes)
    assert str(caught.value).isprintable()
