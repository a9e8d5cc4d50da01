"""Selectors that draw from the values R(S) of an instance.

The chance level is about draws that are almost the same whatever the data, by public numbers.
"""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from mipselect.blocks import scores
from mipselect.blocks.partitions import MOST_PARTITIONS, MOST_ROWS_OF_A_BLOCK, SEED_BITS
from mipselect.errors import InvalidInput
from mipselect.estimators import feature_bounds, target_bound
from mipselect.losses import Loss, checked_loss
from mipselect.losses.base import wants_classes
from mipselect.losses.classes import SIGNS, class_signs
from mipselect.mechanisms.base import SupportMechanism
from mipselect.parameters import estimator, parameter, parameters_of
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import RELATIONS, Guarantee
from mipselect.privacy.randomness import Rng, generator
from mipselect.problem.block_scores import BlockScores, scored, scored_rows
from mipselect.problem.data import Rows
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.restricted.device import device_of
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import ChanceLevel, PrivateSelector
from mipselect.validation import checked_choice, checked_epsilon, checked_integer

BOUNDS = ("x_bound", "y_bound", "coef_bound", "ridge")
OF_BLOCKS = ("block_rows", "partitions")

RARELY = 1.0 / 3.0
"""Probability by exponential weights; permute-and-flip has 0.44 at most then, if gaps are equal."""


class NotAMethod:
    """Keeps a parameter that is named like a method of scikit-learn's, out of its sight.

    scikit-learn calls an attribute `score` if there is one. `get_params` has the parameter.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, selector: object, owner: type | None = None) -> Any:
        raise AttributeError(f"{self.name} is a parameter and no method: see get_params()")

    def __set__(self, selector: object, value: Any) -> None:
        vars(selector)[self.name] = value


@estimator
class ProblemSelector(PrivateSelector):
    """A selector whose distribution comes from the values R(S) of an `Instance`.

    Without a bound it is an instance of blocks of rows (`Instance.from_blocks`), which uses no
    range of any column; with public bounds it is one of the rows.
    """

    bounds = BOUNDS

    score: str | None = parameter(
        '{"blocks", "block-r2", "loss"}, optional',
        "Values of supports: least squares on blocks of rows, each normalised by itself; R² within "
        "such blocks, for exact draws of one size from supports that can be listed; neither needs "
        "a bound. Or a loss of rows that are clipped to the bounds. Default: the loss where a "
        "bound, an intercept or another loss than the squared one is given, else R² where "
        "it takes less than a minute, else least squares.",
        default=None,
        check=lambda value, name: checked_choice(value, name, scores.SCORES),
    )
    block_rows: int | None = parameter(
        "int, optional",
        "b, rows of a block. Of least squares two see ranks; more come nearer to R², and need more "
        "rows. Default: 2, of a table with a target of two classes 3, and for R² a public rule of "
        "n, ε and s.",
        default=None,
        check=lambda value, name: checked_integer(value, name, 2, MOST_ROWS_OF_A_BLOCK),
    )
    partitions: int | None = parameter(
        "int, optional",
        "T, how often the rows are divided into blocks anew. Default 16, and for R² at most 8.",
        default=None,
        check=lambda value, name: checked_integer(value, name, 1, MOST_PARTITIONS),
    )
    x_bound: float | Sequence[float] | None = feature_bounds(
        ": the length of a row within a feature of several columns. In their units. Public; "
        "required of a loss."
    )
    y_bound: float | None = target_bound("Public; required of a loss, but not if y holds classes.")
    coef_bound: float | None = parameter(
        "float",
        "r, the largest ‖β‖₂. Public; required of a loss. Without `intercept` centre by public "
        "constants. Of blocks in their units, default 0.75/√s.",
        default=None,
        assumption="the largest length of the coefficients",
    )
    ridge: float | None = parameter(
        "float",
        "λ > 0 of the penalty (λ/2n)‖β‖². Public; required of a loss. Of blocks default 1.",
        default=None,
        assumption="λ of the penalty (λ/2n)‖β‖²",
    )
    loss: str | Loss = parameter(
        "str or Loss", 'See `Instance`. With "hinge" y holds two classes.', default="squared"
    )
    intercept: bool = parameter("bool", "Whether a column of ones is always in.", default=False)
    device: str | None = parameter(
        "str, optional",
        'Device of PyTorch that multiplies columns, as "cuda"; default NumPy. It changes no law.',
        default=None,
        flag="--device",
        check=device_of,
    )

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under replace-one and, of an exponential mechanism, ρ = ε²/8."""
        epsilon = checked_epsilon(self.epsilon)
        return Guarantee(epsilon, rho=bounded_range_rho(epsilon))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; `score` is one, though it is hidden as an attribute."""
        return {name: vars(self)[name] for name in parameters_of(self)}

    @property
    def asked_score(self) -> str | None:
        """The score that was asked for; "loss" where something was given that only it has."""
        score: str | None = vars(self)["score"]
        if score is not None:
            return score
        given = [getattr(self, name) for name in BOUNDS]
        stated = any(value is not None for value in given) or self.intercept
        return scores.LOSS if stated or self.loss != "squared" else None

    @property
    def lists(self) -> bool:
        """True if what it draws from may be a list of all supports, of one size."""
        return False

    def check(self, named: Callable[[str], str] = str) -> Self:
        """See `PrivateSelector.check`."""
        super().check(named)
        score = self.asked_score
        if score is not None:
            scores.require_together(score, self.get_params(), lists=self.lists, named=named)
        return self

    @property
    def relations(self) -> tuple[str, ...]:
        """Neighbouring relations of its guarantee: see `Problem.relations`.

        Without a `score` they are those of a loss; what is drawn from blocks states its own.
        """
        known = vars(self)["score"] not in (scores.BLOCKS, scores.R2)
        return tuple(RELATIONS) if known else ("replace-one",)

    def stated(self, problem: Problem) -> dict[str, Guarantee]:
        """Return the guarantees under the relations that values of the problem have."""
        known = self.problem(problem).relations
        return {name: one for name, one in self.guarantees.items() if name in known}

    def problem(self, problem: Problem) -> Problem:
        """Return all of it; with the largest size, where sizes are an option."""
        return problem

    def on(
        self,
        instance: Instance | BlockScores,
        rng: Rng = None,
        progress: ProgressCallback | None = None,
    ) -> SupportMechanism:
        """Search as far as is needed, and return the law. See `PrivateSelector.on`."""
        self.check()
        if self.device is not None and isinstance(instance, Instance) and instance.data.has_rows:
            instance = instance.on_device(self.device)
        with np.errstate(all="ignore"):
            return self._law(instance, progress)

    @abstractmethod
    def _law(self, instance: Any, progress: ProgressCallback | None) -> SupportMechanism:
        """See `on`; `BlockScores` come to those that list supports only."""

    def _mechanism(self, X: Any, y: Any, source: random.Random) -> SupportMechanism:
        if self.asked_score == scores.LOSS:
            problem = self._problem_of_loss()
            return self.on(Instance.of_rows(problem, Rows(problem.layout.ordered(X), y)))
        problem = self._problem_of_columns()
        rows = Rows(problem.layout.ordered(X), y)
        return self.on(scored_rows(self.block_options(source), problem, rows, self.device))

    def _public(self, *names: str) -> dict[str, Any]:
        try:
            return super()._public(*names)
        except InvalidInput as error:
            if self.loss != "squared" or self.intercept:
                raise
            raise InvalidInput(f"{error}; with score='blocks' none is needed") from None

    def _support_size(self) -> int:
        return int(self.n_features_to_select)

    def _labelled(self, y: ArrayLike) -> ArrayLike:
        classes = checked_loss(self.loss).classes
        return y if classes is None else class_signs(y, classes)

    def _problem_of_columns(self) -> Problem:
        return Problem(layout=self._layout(), support_size=self._support_size())

    def block_options(self, source: random.Random) -> scores.BlockOptions:
        """Return what it says of scores from blocks of rows, with partitions from a source."""
        seed, (_, private) = source.getrandbits(SEED_BITS), generator(source)
        return scores.BlockOptions(
            score=self.asked_score,
            epsilon=self.epsilon,
            lists=self.lists,
            partition_seed=seed,
            order_seed=None if private else seed,
            **{name: getattr(self, name) for name in (*OF_BLOCKS, *scores.SCALES)},
        )

    def _problem_of_loss(self) -> Problem:
        loss, needed = checked_loss(self.loss), list(BOUNDS)
        if loss.classes is not None:
            loss = replace(cast(Any, loss), classes=SIGNS)
        if wants_classes(loss):
            needed.remove("y_bound")
        return Problem.of_columns(
            self.n_features_in_,
            self._names(),
            support_size=self._support_size(),
            loss=loss,
            groups=self.groups,
            always=self.always,
            intercept=self.intercept,
            **{"y_bound": 1.0, **self._public(*needed)},
        )

    def _warn_near_chance(self, n: int) -> None:
        if self.asked_score == scores.LOSS:
            problem = self._problem_of_loss()
        else:
            options = self.block_options(random.Random(0))  # Seeds of partitions change nothing.
            problem = scored(options, self._problem_of_columns(), n)
        self.warn_near_chance(problem, n)


ProblemSelector.score = NotAMethod("score")  # type: ignore[assignment]


def largest_range(problem: Problem, n: int) -> float:
    """Bound the difference of R between two supports on any n rows; public.

    No support is worse than β = 0. As a loss is convex, ℓ(y, 0) - ℓ(y, u) is at most half of
    ℓ(y, -u) - ℓ(y, u), and so no support is better than that by more than half of what a loss
    varies by. Where ℓ(y, y) = 0, for all losses but that of classes, it cannot be better by more
    than ℓ(y, 0). Block R² is between 0 and the number of blocks.
    """
    if problem.loss is None:
        return problem.terms(n)
    half = 0.5 * problem.terms(n) * problem.oscillation(n)
    if problem.of_classes:
        return half
    return min(half, problem.stated_loss.spread(problem.bound("y_bound"), 0.0))


def of_values(
    problem: Problem, n: int, epsilon: float, scale: float, formula: str, surprise: float
) -> ChanceLevel:
    """Compare the range of R with the noise of a draw, and say where that is not below it.

    The noise is `scale`, that of exponential weights, times `surprise`, -log of the probability of
    the likeliest support without data; `formula` in words.
    """
    noise, most = scale * surprise, largest_range(problem, n)
    if noise < most:
        return ChanceLevel(False, "")
    # Noise goes with 1/ε, and the range does not rise with ε: blocks become larger, and fewer.
    needed = epsilon * noise / most if most > 0.0 else math.inf
    enough = f" No draw with an ε below {needed:.2g} can do." if math.isfinite(needed) else ""
    bounds = ", or smaller bounds" if problem.score == scores.LOSS else ""
    sentence = (
        "near chance: at this ε, with so few rows, a draw is almost the same whatever the data."
        f"{enough} More rows would help, a larger ε, fewer fields to choose from{bounds} (noise "
        f"{formula} = {noise:.3g}, not below {most:.3g}, the largest possible range of the "
        "objective)"
    )
    return ChanceLevel(True, sentence)


def of_few_rows(problem: Problem, n: int, scale: float) -> str:
    """Say that draws mostly miss the best support even where only blocks stand in its way.

    Its s features are independent, and explain all of y, each alike. Where another support has k
    of them these explain k/s of y in every block, and in block R² the other s - k explain by
    chance their share of the b - 1 - k dimensions that are left. `scale` is the noise of
    exponential weights. Public; "" if not so.
    """
    p, s = problem.n_features, problem.support_size
    shared = np.arange(max(0, 2 * s - p), s + 1)
    missed = 1.0 - shared / s
    if problem.score == scores.R2:
        assert problem.blocks is not None
        missed *= 1.0 - (s - shared) / (problem.blocks.rows - 1 - shared)
    counts = [math.comb(s, k) * math.comb(p - s, s - k) for k in shared.tolist()]
    logs = np.array(list(map(math.log, counts))) - largest_range(problem, n) * missed / scale
    chance = math.exp(-float(np.logaddexp.reduce(logs)))
    if chance >= RARELY:
        return ""
    return (
        f"few rows for this ε: most draws name other fields than the best. Where "
        f"{problem.support_size} independent fields explain all of the target, each alike, all of "
        f"them are drawn with a probability of about {chance:.2g}, and mostly less in real data. "
        "More rows would help, a larger ε, or fewer fields to choose from"
    )
