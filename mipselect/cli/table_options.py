"""Options about a table: of numbers with public bounds, or with a public schema."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mipselect.cli.declared import argument, group, option, options, required
from mipselect.cli.dialect import TableArgument
from mipselect.cli.options import stated
from mipselect.cli.streams import say
from mipselect.errors import InvalidInput
from mipselect.problem.scores import BLOCKS, R2
from mipselect.tables.equation import steps_of
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_choice, plain_digits, shown

if TYPE_CHECKING:  # Reading tables takes long to import.
    from mipselect.problem.block_options import BlockOptions
    from mipselect.tables.public_map import TableQuestion

TABLE_PANEL = "Table with a schema"
BOUNDS_PANEL = "Public bounds of --score loss and of single methods"
BEFORE_THE_DATA = "Choose it without looking at the data; with --schema it has a default."
MOMENTS_PANEL = "Moments (M.npz) in place of INSTANCE; of 'solve' also a table"

SCHEMA = "Public ranges and categories: a Table Schema, see 'mipselect describe'."
NEEDS_SCHEMA = "needs --schema (begin one with 'mipselect describe')"
HAS_SCHEMA = (
    "does not apply with --schema: the schema has the ranges; see --range, --always and --never"
)

NO_RANGE = "goes with --score loss: blocks use no range, and are centred"

NAME = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?=,|$)|([^",]*)(?=,|$)')
"""One of several names."""


@options
class TableOptions(TableArgument):
    """A table that something is drawn from, and the column to predict."""

    data: str = argument(
        "DATA",
        "A .csv, .csv.gz, .parquet, .arrow, .sav, .dta, .sas7bdat, .xpt or .xlsx file; with "
        "--schema also a folder or a pattern.",
    )
    target: str = required("--target", "The column to predict.")
    schema: Path | None = option("--schema", SCHEMA, metavar="FILE", panel=TABLE_PANEL)

    @property
    def head(self) -> dict[str, Any]:
        """First entries of a report, after the command."""
        named = {**super().head, "target": self.target}
        return named if self.schema is None else {**named, "schema": str(self.schema)}

    @property
    def title(self) -> str:
        """Name of the table in messages: that of its file, without the folder."""
        return Path(self.data).name

    @property
    def files(self) -> list[Path]:
        """The table and its schema, which no output may replace."""
        return [Path(self.data), *filter(None, [self.schema])]


@options
class NumbersOptions:
    """Public side of a table of numbers, which has no schema."""

    x_bound: float | None = option(
        "--x-bound",
        "Features are clipped to ± this; their units. Choose it without looking at the data.",
        panel=BOUNDS_PANEL,
    )
    y_bound: float | None = option(
        "--y-bound",
        "The target is clipped to ± this; its units. Choose it without looking at the data.",
        panel=BOUNDS_PANEL,
    )
    features: str | None = option(
        "--features",
        'Columns to choose from; "in quotes" a name with commas or outer blanks.',
        metavar="A,B,...",
        show_default="all but the target",
    )
    target_shift: float = option(
        "--target-shift",
        "Without --schema: a public constant to subtract from the target.",
        default=0.0,
    )

    @property
    def chosen(self) -> list[str] | None:
        """Names of the columns to choose from; None for all but the target."""
        return None if self.features is None else split_names("--features", self.features)


@options
class ScoreOptions:
    """Options about the values of supports."""

    PANEL = "Score of a set of columns"

    score: str | None = option(
        "--score",
        "block-r2: R² within blocks of rows, of every support. blocks: least squares on blocks. "
        "Neither uses a range. loss: of rows that are clipped to public ranges.",
        metavar="block-r2|blocks|loss",
        show_default="block-r2 where supports can be listed, else blocks; loss with a bound, "
        "--range, --loss, or under add-remove",
    )
    block_rows: int | None = option(
        "--block-rows",
        "Rows of a block, public. Of blocks two see ranks; more come nearer to R².",
        metavar="B",
        show_default="2; 3 for two classes; of block-r2 by n, ε and s",
    )
    partitions: int | None = option(
        "--partitions",
        "How often the rows are divided into blocks anew, public.",
        metavar="T",
        show_default="16; of block-r2 up to 8",
    )
    loss: str | None = option(
        "--loss", 'squared, hinge, "huber(1.35)", "quantile(0.9)".', show_default="squared"
    )

    def of_blocks(self, **draw: Any) -> BlockOptions:
        """Return them as options of a score from blocks, of a draw; no score is that of a file."""
        from mipselect.problem.block_options import BlockOptions

        if self.score is not None:
            checked_choice(self.score, "--score", (BLOCKS, R2))
        return BlockOptions(
            score=self.score, block_rows=self.block_rows, partitions=self.partitions, **draw
        )


def score_in_place_of_the_file() -> ScoreOptions:
    """Declare `ScoreOptions` for an instance, whose file may say them."""
    return group(
        ScoreOptions,
        without=("--loss",),
        help={
            "--score": "In place of the score of the instance, whose bounds are then not used. "
            "block-r2: R² within blocks of rows, of every support. blocks: least squares on blocks."
        },
        show_default={
            "--score": "that of the instance",
            "--block-rows": "that of the instance; 2, of block-r2 by n, ε and s",
            "--partitions": "that of the instance; 16, of block-r2 up to 8",
        },
    )


@options
class Regularisation:
    """Public bound and penalty on the coefficients."""

    PANEL = BOUNDS_PANEL

    coef_bound: float | None = option(
        "--coef-bound", f"Largest length ‖β‖₂ of the coefficients. {BEFORE_THE_DATA}"
    )
    ridge: float | None = option(
        "--ridge", f"λ of the penalty (λ/2n)‖β‖²; n and X set its scale. {BEFORE_THE_DATA}"
    )


@options
class SchemaOptions:
    """SchemaOptions about a table with a schema."""

    PANEL = TABLE_PANEL

    always: str | None = option(
        "--always", "Fields that are in whatever is chosen, such as age and sex.", metavar="A,B,..."
    )
    never: str | None = option(
        "--never", "Fields of the schema that are left out.", metavar="A,B,..."
    )
    ranges: list[str] | None = option(
        "--range",
        "A public range in place of that of the schema; may be given several times.",
        metavar="NAME=LO:HI",
    )
    no_intercept: bool = option("--no-intercept", "Without a column of ones.", default=False)
    unit_rule: str | None = option(
        "--unit-rule",
        "What becomes of several rows of one person, where the schema names "
        "csvw-eo:privacyUnit: the first or last one, or means of numbers with the rest from the "
        "first; rows beyond it are dropped.",
        metavar="first|last|mean",
        show_default="first",
    )

    @property
    def keywords(self) -> dict[str, Any]:
        """Options that were given, as arguments of `Instance.from_table`."""
        return stated(
            always=None if self.always is None else split_names("--always", self.always),
            never=None if self.never is None else split_names("--never", self.never),
            ranges=dict(map(_range, self.ranges)) if self.ranges else None,
            intercept=False if self.no_intercept else None,
            unit_rule=self.unit_rule,
        )

    def question_about(self, schema: TableSchema, target: str) -> TableQuestion:
        """Return the question about a table with this schema."""
        from mipselect.tables.public_map import TableQuestion

        given = {name: value for name, value in self.keywords.items() if name != "intercept"}
        return TableQuestion(schema, target, **given)


@options
class MomentsOptions:
    """SchemaOptions about moments, which an instance has in its file."""

    support_size: int | None = option("--support-size", "How many to pick.", panel=MOMENTS_PANEL)
    regularisation: Regularisation = group(
        Regularisation,
        panel=MOMENTS_PANEL,
        help={
            "--coef-bound": "Largest length ‖β‖₂ of the coefficients; of a table it has a public "
            "default.",
            "--ridge": "λ of the penalty (λ/2n)‖β‖²; 1 of a table.",
        },
        show_default={"--ridge": "1"},
    )
    question: SchemaOptions = group(
        SchemaOptions,
        without=("--range", "--unit-rule"),
        panel=MOMENTS_PANEL,
        help={
            "--always": "Fields that are in whatever is chosen.",
            "--never": "Fields that are left out.",
        },
    )


@options
class SourceOptions:
    """An instance, or moments with a question about them."""

    instance: str = argument(
        "INSTANCE", "Name of a stored instance (see 'mipselect instances') or path of a .toml file."
    )
    moments: MomentsOptions = group(MomentsOptions)


def of_two_classes(schema: TableSchema, target: str) -> bool:
    """Return whether a target has two categories by its schema."""
    return len(schema.field(target, "target").category_names) == 2


def note_of_the_target(schema: TableSchema, target: str) -> None:
    """Say that ordered categories of the target are taken as a number."""
    field = schema.field(target, "target")
    names = field.category_words
    if field.ordered and len(names) > 2:
        places = ", ".join(f"{k} is {name}" for k, name in enumerate(names[:20]))
        more = ", ..." if len(names) > 20 else ""
        say(
            f"note: {target} is taken as a number, the place among its ordered categories: "
            f"{places}{more}; {steps_of(names)}"
        )


def split_names(option: str, text: str) -> list[str]:
    """Split names at commas; a name in double quotes may have commas and outer blanks."""
    names, at = [], 0
    while at <= len(text):
        part = NAME.match(text, at)
        if part is None:
            raise InvalidInput(
                f"{option}: a double quote has no partner in {text[at:]!r}; inside a name in "
                "quotes it is written twice"
            )
        quoted, plain = part.groups()
        names.append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        at = part.end() + 1
    return names


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """Parse a name, which may have "=" in it, and two numbers."""
    name, _, ends = text.rpartition("=")
    low, _, high = ends.partition(":")
    try:
        return name, (float(plain_digits(low)), float(plain_digits(high)))
    except ValueError:
        raise InvalidInput(
            f"--range must be a field with its ends, such as age=0:100, got {shown(text)}"
        ) from None
