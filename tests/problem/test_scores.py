"""What goes with which score: one rule, in the same words for selectors and options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mipselect import BlockScores, Instance
from mipselect.errors import InvalidInput
from mipselect.problem.block_scores import BlockOptions
from mipselect.problem.scores import require_together
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("loss", {"block_rows": 4}, "block_rows goes with scores from blocks"),
    ("loss", {"partitions": 4}, "partitions goes with scores from blocks"),
    *(
        (score, {name: 1.0}, f"{name} does not apply to score '{score}', which uses no range")
        for score in ("blocks", "block-r2")
        for name in ("x_bound", "y_bound")
    ),
    ("blocks", {"intercept": True}, "centred blocks: leave out intercept"),
    ("block-r2", {"loss": "hinge"}, "centred blocks: leave out loss"),
    ("block-r2", {"ridge": 1.0}, "ridge goes with score 'blocks' or 'loss'"),
    ("block-r2", {"coef_bound": 1.0}, "coef_bound goes with score 'blocks' or 'loss'"),
]
ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("loss", {"x_bound": 1.0, "ridge": 1.0, "intercept": True, "loss": "hinge"}),
    ("blocks", {"ridge": 1.0, "coef_bound": 1.0, "block_rows": 4, "loss": "squared"}),
    ("block-r2", {"partitions": 2, "intercept": False, "loss": None}),
]


def refusal(call: Any) -> str:
    with pytest.raises(InvalidInput) as error:
        call()
    return str(error.value)


@pytest.mark.parametrize(("score", "given", "words"), REFUSED)
def test_selectors_and_options_refuse_in_the_same_words(
    score: str, given: dict[str, Any], words: str
) -> None:
    said = refusal(lambda: require_together(score, given))
    assert words in said
    selector = PermuteAndFlipSelector(2, score=score, **given)
    assert refusal(selector.check) == said
    if score != "loss" and set(given) <= {"ridge", "coef_bound"}:
        assert refusal(lambda: BlockOptions(score=score, **given)) == said
    (name,) = given
    assert f"--{name}" in refusal(lambda: require_together(score, given, named="--{}".format))


@pytest.mark.parametrize(("score", "given"), ACCEPTED)
def test_what_goes_together(score: str, given: dict[str, Any]) -> None:
    require_together(score, given)
    PermuteAndFlipSelector(2, score=score, **(given | {"loss": given["loss"] or "squared"})).check()


def test_lists_are_of_one_size() -> None:
    said = refusal(lambda: require_together("block-r2", {}, lists=False))
    assert "exact draws of one size" in said
    assert refusal(lambda: BlockOptions(score="block-r2", lists=False)) == said
    of_sizes = PermuteAndFlipSelector(sizes=[1, 2], score="block-r2")
    assert refusal(of_sizes.check) == said
    require_together("blocks", {}, lists=False)


def test_a_table_is_asked_for_one_score() -> None:
    known = TableSchema.of_numbers({"a": (0.0, 9.0), "b": (0.0, 9.0), "y": (0.0, 9.0)})
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.uniform(0.0, 9.0, 60) for name in "aby"})

    def made(**options: Any) -> Any:
        return Instance.from_table(table, known, target="y", support_size=1, **options)

    assert made().problem.score == "loss"
    assert made(score="blocks", block_rows=3).problem.blocks.rows == 3
    for score in ("block-r2", None):
        assert isinstance(made(score=score, partition_seed=1), BlockScores)
    for given, words in (
        ({"block_rows": 3}, "goes with scores from blocks"),
        ({"score": "blocks", "ranges": {"a": (0.0, 5.0)}}, "ranges does not apply to score"),
        ({"score": None, "loss": "hinge"}, "leave out loss"),
        ({"score": "block-r2", "ridge": 1.0}, "ridge goes with score"),
        ({"score": "r2"}, "score must be one of"),
    ):
        assert words in refusal(lambda given=given: made(**given))
