"""Inputs of `solve` and `release`: an instance, or moments with a question about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from mipselect.cli.options import about
from mipselect.cli.sizes import parse_sizes
from mipselect.cli.table_options import asked
from mipselect.data.files import Expected, Problem, expected, files_of, load_problem
from mipselect.data.outline import Outline, instance_outline
from mipselect.data.summed import summed_outline, summed_problem
from mipselect.errors import InvalidInput
from mipselect.moments import Moments

ENDING = ".npz"
MOMENTS_PANEL = "Moments (a file of 'mipselect moments' in place of INSTANCE)"

SumsSize = Annotated[
    int | None,
    typer.Option("--support-size", help="How many to pick.", rich_help_panel=MOMENTS_PANEL),
]
SumsCoefBound = Annotated[
    float | None,
    typer.Option(
        "--coef-bound",
        help="Largest length ‖β‖₂ of the coefficients; of a table it has a public default.",
        rich_help_panel=MOMENTS_PANEL,
    ),
]
SumsRidge = Annotated[
    float | None,
    typer.Option(
        "--ridge",
        help="λ of the penalty (λ/2n)‖β‖²; 1 of a table.",
        show_default="1",
        rich_help_panel=MOMENTS_PANEL,
    ),
]
SumsAlways = Annotated[
    str | None,
    typer.Option(
        "--always",
        metavar="A,B,...",
        help="Fields that are in whatever is chosen.",
        rich_help_panel=MOMENTS_PANEL,
    ),
]
SumsNever = Annotated[
    str | None,
    typer.Option(
        "--never",
        metavar="A,B,...",
        help="Fields that are left out.",
        rich_help_panel=MOMENTS_PANEL,
    ),
]
SumsNoIntercept = Annotated[
    bool,
    typer.Option("--no-intercept", help="Without a column of ones.", rich_help_panel=MOMENTS_PANEL),
]


class AskedOf(Protocol):
    """Source of a problem: an instance, or moments with a question about them."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of all files that are read."""
        ...

    def problem(self) -> Problem:
        """All of it; sensitive."""
        ...

    def outline(self) -> Outline:
        """Return what is public about the problem before a row is read."""
        ...

    def expected(self) -> Expected | None:
        """Return what a search must find; None where it is not known."""
        ...


@dataclass(frozen=True)
class StoredProblem:
    """An instance by its name or the path of its file."""

    name: str

    @property
    def files(self) -> tuple[Path, ...]:
        """The instance's own file, and those of its data."""
        return files_of(self.name)

    def problem(self) -> Problem:
        """See `AskedOf`."""
        return load_problem(self.name)

    def outline(self) -> Outline:
        """See `AskedOf`."""
        return instance_outline(self.name)

    def expected(self) -> Expected | None:
        """See `AskedOf`."""
        return expected(self.name)


@dataclass(frozen=True)
class SummedProblem:
    """Moments in a file, and arguments of `Instance.from_moments`."""

    path: Path
    question: dict[str, Any]

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def problem(self) -> Problem:
        """See `AskedOf`."""
        moments = Moments.load(self.path)
        with about(str(self.path)):
            return summed_problem(self.path, moments, self.question)

    def outline(self) -> Outline:
        """See `AskedOf`; the file is read, and of its sums the number of rows is used."""
        moments = Moments.load(self.path)
        with about(str(self.path)):
            return summed_outline(self.path, moments, self.question)

    def expected(self) -> Expected | None:
        """Nothing is."""
        return None


def asked_of(
    instance: str,
    support_size: int | None,
    sizes: str | None,
    coef_bound: float | None,
    ridge: float | None,
    always: str | None,
    never: str | None,
    no_intercept: bool,
) -> AskedOf:
    """Moments where `instance` ends in .npz, else an instance, whose file has its question.

    Parameters
    ----------
    instance : str
    sizes : str, optional
        From the method's options; the largest size takes the place of a support size.
    support_size, coef_bound, ridge, always, never, no_intercept
        From the command line.
    """
    if not instance.endswith(ENDING):
        given: dict[str, object] = {"--support-size": support_size, "--coef-bound": coef_bound}
        given |= {"--ridge": ridge, "--always": always, "--never": never}
        given["--no-intercept"] = no_intercept or None
        for option, value in given.items():
            if value is not None:
                raise InvalidInput(
                    f"{option} is for moments (a file ending in {ENDING}); an instance has it in "
                    "its file"
                )
        return StoredProblem(instance)
    if (support_size is None) == (sizes is None):
        raise InvalidInput(
            "moments need one of --support-size, how many to pick, and --sizes, to choose it "
            "privately"
        )
    # A default coef_bound is that of the largest size.
    size = parse_sizes(sizes)[-1] if support_size is None else support_size  # type: ignore[arg-type]
    question = asked(always, never, None, no_intercept, None)
    if not no_intercept:
        del question["intercept"]
    bounds = {"coef_bound": coef_bound, "ridge": ridge}
    question |= {name: value for name, value in bounds.items() if value is not None}
    return SummedProblem(Path(instance), {"support_size": size, **question})
