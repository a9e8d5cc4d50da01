"""Answers that a plan gives in words: four questions, four answers."""

from __future__ import annotations

from collections.abc import Iterable

from mipselect.planning.chances import MISTAKES
from mipselect.planning.few_tables import rough_guess
from mipselect.planning.lines import (
    COEF_BOUND,
    METHOD,
    REFERENCE,
    REPEATED,
    RIDGE,
    Line,
    SelectionPlan,
)
from mipselect.validation import joined

BOUNDS = "Another coef_bound, or ridge, for the loss?"

CLEAR = 2.0
"""A difference must be so many of its standard errors to count."""

WORTH = 0.02
"""A difference must also be so much more of the right columns."""

CLOSE = 0.05
"""Share of the right columns that a smaller bound may lose to the best and still be preferred,
where fields repeat each other, for it costs less elsewhere."""


def answers(plan: SelectionPlan) -> tuple[tuple[str, str], ...]:
    """Return pairs of a question and its answer, in the order of a plan.

    Which method and which bounds is answered at the middle ε; bounds only if lines
    are about the loss.

    Examples
    --------
    >>> from mipselect.planning import answers, plan_selection
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("dose", "weight", "days"), (0, 10)))
    >>> question = {"target": "days", "rows": 500, "support_size": 1}
    >>> plan = plan_selection(schema, **question, epsilons=[1.0], tables=2)
    >>> [question for question, _ in answers(plan)][:2]
    ['Will it find what matters?', 'Which method?']
    """
    of_loss = plan.of_loss
    bounds = []
    if of_loss is not None:
        compared = (of_loss, *plan.about(COEF_BOUND, REPEATED, RIDGE))
        bounds = [(BOUNDS, _guessed(_which_bounds(plan, of_loss), compared))]
    return (
        ("Will it find what matters?", _guessed(_what_is_found(plan), [plan.of_select])),
        ("Which method?", _guessed(_which_method(plan), plan.about(METHOD))),
        *bounds,
        ("How many rows?", _guessed(_how_many_rows(plan), plan.by_rows)),
    )


def _guessed(answer: str, lines: Iterable[Line]) -> str:
    """Mark an answer as a rough guess where one of its lines has very few tables."""
    guess = rough_guess(len(line.tables) for line in lines if line.tables)
    return f"{guess}: {answer}" if guess else answer


def middle(plan: SelectionPlan) -> int:
    """Return the place of the middle ε."""
    return sorted(range(len(plan.epsilons)), key=plan.epsilons.__getitem__)[
        (len(plan.epsilons) - 1) // 2
    ]


def _what_is_found(plan: SelectionPlan) -> str:
    s, line = plan.support_size, plan.of_select
    found = [line.chance(k) for k in range(len(plan.epsilons))]
    if None in found:
        return f"unknown: the draw was {line.remark}"
    counts = joined([f"{s * chance.found:.1f}" for chance in found if chance is not None])
    # A larger ε has larger blocks, which say more.
    largest = max(range(len(plan.epsilons)), key=plan.epsilons.__getitem__)
    best = plan.about(REFERENCE)[0].chance(largest)
    known = "" if best is None else f", without privacy {s * best.found:.1f}"
    return (
        f"of {s} right column{'s' * (s > 1)} a draw finds {counts} on average at ε = "
        f"{joined([f'{epsilon:g}' for epsilon in plan.epsilons])} (a uniform draw "
        f"{s * plan.blind:.1f}{known})"
    )


def _which_method(plan: SelectionPlan) -> str:
    k = middle(plan)
    lines = [line for line in plan.about(METHOD) if line.tables]
    if not lines:
        return "unknown: none was done within the time limit"
    # Of equals the first: it has no condition.
    best = _best(lines[0], lines[1:], k)
    answer = f"{_beside(best, k)} at ε = {plan.epsilons[k]:g}"
    if len(lines) > 1:
        answer += ", and no other is clearly better" if best is lines[0] else ""
        answer += f" ({', '.join(_beside(line, k) for line in lines if line is not best)})"
    if best.setting.method == MISTAKES:
        answer += "; it is private only where the best support is clearly ahead"
    return answer


def _which_bounds(plan: SelectionPlan, start: Line) -> str:
    k = middle(plan)
    if not start.tables:
        return f"unknown: the draw was {start.remark}"
    parts = []
    for about, now in ((COEF_BOUND, plan.coef_bound), (RIDGE, plan.ridge)):
        if not any(line.tables for line in plan.about(about)):
            continue
        best = _best(start, plan.about(about), k)
        value = getattr(best.setting, about)
        if best is start:
            parts.append(f"keep {about} {now:.3g}")
        else:
            more = f"{_percent(best, k)} in place of {_percent(start, k)}"
            parts.append(f"{about} {value:.3g} finds more than {now:.3g} ({more})")
        if about == COEF_BOUND:
            if value < now and plan.guesses.target_mean is None:
                parts[-1] += (
                    ", if the mean of the target is near the middle of its range (--target-mean)"
                )
            parts += _where_fields_repeat(plan, best, k)
    return "; ".join(parts) or "unknown: there was time for no other"


def _where_fields_repeat(plan: SelectionPlan, elsewhere: Line, k: int) -> list[str]:
    """Say which coef_bound is best there, if it is not the one that is best elsewhere."""
    lines = _by_coef_bound(line for line in plan.about(REPEATED) if line.tables)
    advised = elsewhere.setting.coef_bound
    if advised is None or advised not in lines:
        return []
    there = f"where {plan.repeated} fields repeat each other"
    best = _best(lines[advised], lines.values(), k)
    value = min(bound for bound, line in lines.items() if best.gain(line, k)[0] <= CLOSE)
    if not _clearly_better(lines[value], lines[advised], k):
        return [f"the same {there}"]
    by_bound = _by_coef_bound(line for line in plan.about(COEF_BOUND, METHOD)[::-1] if line.tables)
    more = f"{_percent(lines[value], k)} in place of {_percent(lines[advised], k)}"
    if value in by_bound:
        cost = f"{_percent(by_bound[value], k)} in place of {_percent(elsewhere, k)}"
        more += f"; elsewhere {cost}"
    said = f"{there} {value:.3g} finds more than {advised:.3g} ({more})"
    chance = lines[value].chance(k)
    if value == max(lines) and chance is not None and chance.found < plan.goal:
        said += f", and twice that may find still more (--coef-bound {value:.3g})"
    return [said]


def _by_coef_bound(lines: Iterable[Line]) -> dict[float, Line]:
    """Return the last line of each bound."""
    bounds = ((line.setting.coef_bound, line) for line in lines)
    return {bound: line for bound, line in bounds if bound is not None}


def _best(start: Line, others: Iterable[Line], k: int) -> Line:
    """Choose the first line that no other is clearly better than."""
    best = start
    for line in others:
        if line.tables and _clearly_better(line, best, k):
            best = line
    return best


def _how_many_rows(plan: SelectionPlan) -> str:
    tried = [line.setting.rows for line in plan.by_rows if line.tables]
    if not tried:
        return f"unknown: the draw was {plan.of_select.remark}"
    by_words: dict[str, list[str]] = {}
    for k, epsilon in enumerate(plan.epsilons):
        needed = plan.rows_needed(k)
        if needed is None:
            words = f"more than {tried[-1]:,}"
        elif needed <= plan.rows:
            words = f"{plan.rows:,} or fewer"
        else:
            words = f"about {float(f'{needed:.2g}'):,.0f}"
        by_words.setdefault(words, []).append(f"{epsilon:g}")
    parts = [f"{words} at ε = {joined(epsilons)}" for words, epsilons in by_words.items()]
    return f"for {plan.goal:.0%} of the right columns {'; '.join(parts)}"


def _clearly_better(line: Line, other: Line, k: int) -> bool:
    gain, error = line.gain(other, k)
    return error is not None and gain > max(WORTH, CLEAR * error)


def _beside(line: Line, k: int) -> str:
    return f"{line.setting.name} {_percent(line, k)}"


def _percent(line: Line, k: int) -> str:
    chance = line.chance(k)
    return "-" if chance is None else f"{chance.found:.0%}"
