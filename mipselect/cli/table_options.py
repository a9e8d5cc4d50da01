"""Options about tables, and models of them; nothing that takes long is imported for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mipselect import tables
from mipselect.cli import declared
from mipselect.cli.declared import argument, group, option, options, required
from mipselect.cli.options import stated
from mipselect.cli.start import say
from mipselect.errors import InvalidInput
from mipselect.validation import plain_digits, shown

if TYPE_CHECKING:  # Reading tables takes long to import.
    from mipselect.tables.public_map import TableQuestion

TABLE_PANEL = "Table with a schema"
BEFORE_THE_DATA = "Choose it without looking at the data; a schema gives it a default."
MOMENTS_PANEL = "Moments (M.npz) in place of INSTANCE; of 'solve' also a table"

SCHEMA = "Public ranges and categories: a Table Schema, see 'mipselect describe'."
OF_NUMBERS = ("--x-bound", "--y-bound", "--features")
"""Options of a table of numbers, which has no schema."""

NAME = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?=,|$)|([^",]*)(?=,|$)')
"""One of several names."""


TABLE = (
    "A .csv, .csv.gz, .parquet, .arrow, .sav, .dta, .sas7bdat, .xpt or .xlsx file, or with a "
    "schema a folder or a pattern"
)


@options
class DialectOptions:
    """Delimiter and sheet of a table."""

    PANEL = "Way in which DATA is written"

    delimiter: str | None = option(
        "--delimiter",
        "Of a CSV file: what stands between two values.",
        metavar="CHAR|tab",
        show_default="a comma",
    )
    sheet: str | None = option(
        "--sheet", "Of an Excel file: which sheet.", metavar="NAME", show_default="the first"
    )

    @property
    def keywords(self) -> dict[str, Any]:
        """Options that were given, as arguments of `TableFile`."""
        mark = "\t" if self.delimiter == "tab" else self.delimiter
        return stated(delimiter=mark, sheet=self.sheet)

    def source(self, data: str) -> tables.TableFile:
        """Return the table; raise `InvalidInput`, naming the option, for what is none of them."""
        try:
            return tables.TableFile(data, **self.keywords)
        except InvalidInput as error:
            raise InvalidInput(f"--{error}") from None


@options
class TableArgument:
    """A table, and the way in which it is written."""

    data: str = argument("DATA", f"{TABLE}.")
    dialect: DialectOptions = group(DialectOptions)

    @property
    def source(self) -> tables.TableFile:
        """The table, with the way in which it is written."""
        return self.dialect.source(self.data)

    @property
    def head(self) -> dict[str, Any]:
        """First entries of a report, after the command."""
        return {"data": self.data, **self.dialect.keywords}


@options
class TableOptions(TableArgument):
    """A table that something is drawn from, and the column to predict."""

    target: str = required("--target", "The column to predict.")
    schema: Path | None = option("--schema", SCHEMA, metavar="FILE", panel=TABLE_PANEL)
    features: str | None = option(
        "--features",
        'Without --schema: columns to choose from; "in quotes" a name with commas or outer blanks.',
        metavar="A,B,...",
        show_default="all but the target",
    )

    @property
    def head(self) -> dict[str, Any]:
        """First entries of a report, after the command."""
        named = {**super().head, "target": self.target}
        return named if self.schema is None else {**named, "schema": str(self.schema)}

    @property
    def chosen(self) -> list[str] | None:
        """Names of the columns to choose from; None for all but the target."""
        return None if self.features is None else split_names("--features", self.features)

    def described(self, arguments: Any) -> tables.TableSchema | None:
        """Read the schema, if there is one; refuse those of all arguments that do not go with it.

        Raises
        ------
        InvalidInput
            Naming the option, or what is wrong with the file.
        """
        if self.schema is None:
            needed = "needs --schema (begin one with 'mipselect describe')"
            declared.refuse(arguments, needed, declared.names_of(SchemaOptions))
            return None
        has = "the schema has the ranges; see --range, --always and --never"
        declared.refuse(arguments, f"does not apply with --schema: {has}", OF_NUMBERS)
        return tables.TableSchema.read(self.schema)

    @property
    def files(self) -> list[Path]:
        """The table and its schema, which no output may replace."""
        return [Path(self.data), *filter(None, [self.schema])]


@options
class ScoreOptions:
    """Options about the values of supports."""

    PANEL = "Score of a set of columns"

    score: str | None = option(
        "--score",
        "block-r2: R² within blocks of rows, of every support. blocks: least squares on blocks. "
        "Neither uses a range. loss: of rows that are clipped to public ranges.",
        metavar="block-r2|blocks|loss",
        show_default="block-r2 where supports can be listed, else blocks; loss with what only it "
        "has, or under add-remove",
    )
    loss: str | None = option(
        "--loss", 'squared, hinge, "huber(1.35)", "quantile(0.9)".', show_default="squared"
    )


@options
class BoundsOptions:
    """Public bounds of rows without a schema, and of coefficients."""

    PANEL = "Public bounds of --score loss and of single methods"

    x_bound: float | None = option(
        "--x-bound",
        "Features are clipped to ± this; their units. Choose it without looking at the data.",
    )
    y_bound: float | None = option(
        "--y-bound",
        "The target is clipped to ± this; its units. Choose it without looking at the data.",
    )
    coef_bound: float | None = option(
        "--coef-bound", f"Largest length ‖β‖₂ of the coefficients. {BEFORE_THE_DATA}"
    )
    ridge: float | None = option(
        "--ridge", f"λ of the penalty (λ/2n)‖β‖²; n and X set its scale. {BEFORE_THE_DATA}"
    )


@options
class SchemaOptions:
    """Options about a table with a schema."""

    PANEL = TABLE_PANEL

    always: str | None = option(
        "--always", "Fields that are in whatever is chosen, such as age and sex.", metavar="A,B,..."
    )
    never: str | None = option("--never", "Fields that are left out.", metavar="A,B,...")
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
        """Options that were given but an intercept, as arguments of `Instance.from_table`."""
        return stated(
            always=None if self.always is None else split_names("--always", self.always),
            never=None if self.never is None else split_names("--never", self.never),
            ranges=dict(map(_range, self.ranges)) if self.ranges else None,
            unit_rule=self.unit_rule,
        )

    def question_about(self, schema: tables.TableSchema, target: str) -> TableQuestion:
        """Return the question about a table with this schema, and print how its target counts."""
        from mipselect.tables.public_map import TableQuestion

        field = schema.field(target, "target")
        names = field.category_words
        if field.ordered and len(names) > 2:
            say(
                f"note: {target} is taken as a number, the place among its ordered categories: "
                f"0 for {names[0]}, {len(names) - 1} for {names[-1]}"
            )
        return TableQuestion(schema, target, **self.keywords)


@options
class SourceOptions:
    """An instance, or moments with a question about them, which an instance has in its file."""

    PANEL = MOMENTS_PANEL

    instance: str = argument(
        "INSTANCE", "Name of a stored instance (see 'mipselect instances') or path of a .toml file."
    )
    support_size: int | None = option("--support-size", "How many to pick.")
    bounds: BoundsOptions = group(BoundsOptions, without=OF_NUMBERS, panel=MOMENTS_PANEL)
    question: SchemaOptions = group(
        SchemaOptions, without=("--range", "--unit-rule"), panel=MOMENTS_PANEL
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
