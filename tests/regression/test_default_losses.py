"""Default losses of the command line and of Python differ, and both say so."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.regressions import LOSS_OF_NUMBERS, ObjectiveOptions
from mipselect.regression import ObjectivePerturbationRegressor
from tests.support.commandline import Run


def test_both_name_the_default_of_the_other(run: Run, repository: Path) -> None:
    assert (ObjectivePerturbationRegressor().loss, LOSS_OF_NUMBERS) == ("squared", "huber(0.25)")
    assert ObjectiveOptions().loss is None
    said = " ".join((ObjectivePerturbationRegressor.__doc__ or "").split())
    assert "The default is the squared loss" in said
    assert "`mipselect fit` takes Huber's loss with κ a quarter of `y_bound`" in said
    asked = " ".join(run("fit", "--help").out.replace("│", " ").split())
    assert "In Python the squared loss is the default of numbers." in asked
    page = (repository / "docs" / "regression.md").read_text(encoding="utf-8")
    assert 'That of the class is `loss="squared"`' in " ".join(page.split())
