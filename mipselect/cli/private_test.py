"""Doubts, from public numbers, whether the private test of a regression will pass."""

from __future__ import annotations

from mipselect.regression import TukeyRegressor
from mipselect.regression.table_plan import TablePlan
from mipselect.regression.tukey import FAILS


def doubts_of_a_test(drawn: TablePlan, epsilon: float, n: int | None) -> tuple[str, ...]:
    """Say that the test of --regression tukey is likely to fail, and what would do.

    Parameters
    ----------
    drawn : TablePlan
    epsilon : float
        ε of features and coefficients together.
    n : int or None
        Rows that the model is fitted to; None where they are private, or not known yet: then what
        the test needs is said.
    """
    model, most = drawn.model_on(drawn.widest), drawn.columns_of(drawn.widest)
    if not isinstance(model, TukeyRegressor):
        return ()
    rows = f"about {float(f'{model.enough_rows(most):.2g}'):,.0f} rows"
    if n is None:
        return (f"--regression tukey needs {rows} at this ε: with far fewer {FAILS}",)
    if not model.expects_failure(n, most):
        return ()
    if model.expects_failure(n, drawn.columns_of(drawn.narrowest)):
        fails = FAILS
    else:
        fails = f"where fields of many columns are drawn (in all up to {most}) {FAILS}"
    larger = epsilon * model.enough_epsilon(n, most) / model.epsilon
    return (
        f"--regression tukey has few rows, {n:,}, for this ε: {fails}. {rows.capitalize()} or "
        f"ε = {float(f'{larger:.2g}'):g} would do, or another --regression",
    )
