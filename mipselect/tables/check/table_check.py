"""`TableCheck`: what was counted of a table beside its schema, and what does not fit. SENSITIVE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mipselect.tables.check.field_check import FieldCheck, PersonCheck
from mipselect.tables.check.findings import Finding, percent
from mipselect.tables.check.fits import TrialFit
from mipselect.tables.check.identities import IdentityCheck

LOST = 0.2
"""Share of what a fit explains, lost to the bound on its coefficients, that is a finding."""

NEARLY = 0.8
"""R² from which on a field tells nearly all of the target."""

BEYOND = 0.01
"""Share of predictions beyond their bound that is a finding."""


@dataclass(frozen=True)
class TableCheck:
    """Findings that do not fit between a table and its schema; SENSITIVE, for the curator's eyes.

    Attributes
    ----------
    rows : int
    rows_without_values : int
        Rows where no field has a value: of a CSV file, records that have not as many values as
        the header.
    fields : tuple of FieldCheck
        In the order of the schema.
    people : PersonCheck or None
        Where the schema has a privacy unit.
    target : str or None
    repeats : tuple of (str, str)
        Fields that say the same: absolute correlation of columns above 0.999.
    telling : tuple of (str, float)
        Fields that alone explain four fifths of the target or more, or two fifths of two classes,
        with their adjusted R².
    fits : tuple of TrialFit
        Fits of the target on all fields and on a few; do the public bounds bind?
    of_loss : bool
        Whether the question is one of a selection by loss, the only one that has these bounds.
    identities : tuple of IdentityCheck
        Columns that may say whose row it is, where the schema names none.
    not_compared : tuple of str
        Fields with too many columns to be compared.
    ignored : tuple of str
        Columns of the table that the schema does not have.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> schema = TableSchema.of_numbers({"age": (0, 100), "charges": (0, 1000)})
    >>> table = pa.table({"age": [20, 40, 60], "charges": [900, 1100, 1200]})
    >>> for finding in check_table(table, schema).findings:
    ...     print(finding)
    ...
    charges: 67 % of values are above the maximum 1,000; take a range where nearly all values \
lie, such as from the codebook
    """

    rows: int
    rows_without_values: int
    fields: tuple[FieldCheck, ...]
    people: PersonCheck | None
    target: str | None
    repeats: tuple[tuple[str, str], ...]
    fits: tuple[TrialFit, ...]
    not_compared: tuple[str, ...]
    ignored: tuple[str, ...]
    of_loss: bool = False
    identities: tuple[IdentityCheck, ...] = ()
    telling: tuple[tuple[str, float], ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A line for everything that does not fit: the table, people, fields, target, bounds."""
        of_people = () if self.people is None else self.people.findings
        of_identities = (finding for each in self.identities for finding in each.findings)
        of_fields = (finding for field in self.fields for finding in field.findings)
        repeats = (
            Finding(f"{one} and {other}", "say the same (correlation above 0.999); leave one out")
            for one, other in self.repeats
            if self.target not in (one, other)
        )
        told = (
            Finding(
                name,
                f"tells {'' if share >= NEARLY else 'much of '}the target {self.target} "
                f"{'nearly ' if share >= NEARLY else ''}alone (R² {min(share, 0.999):.3f}); if it "
                "is known only after the target, as the bill of a stay, it is of no use: leave it "
                f"out, --never {name}, for what it is and not for this number",
            )
            for name, share in self.telling
        )
        of_bounds = self._of_bounds() if self.of_loss else []
        return (
            *(*self._of_rows(), *of_people, *of_identities),
            *(*of_fields, *repeats, *told, *of_bounds),
        )

    def _of_rows(self) -> list[Finding]:
        if not self.rows:
            return [Finding("the table", "has no rows")]
        if not self.rows_without_values:
            return []
        share = percent(self.rows_without_values / self.rows)
        return [
            Finding(
                "the table",
                f"{self.rows_without_values:,} rows ({share}) have no value in any field; of a CSV "
                "file these are records with more or fewer values than the header, as where a "
                "value with the delimiter in it has no quotes",
            )
        ]

    def _of_bounds(self) -> list[Finding]:
        lines = []
        for fit in self.fits[-1:]:
            if fit.lost > LOST:
                lines.append(
                    f"the bound on the length of the coefficients takes {percent(fit.lost)} of "
                    f"what {fit.what} would explain; --coef-bound is public, and a larger one "
                    "lets effects in, and noise; where the target is far from the middle of its "
                    "range the intercept takes most of the bound"
                )
            if fit.beyond is not None and fit.beyond > BEYOND:
                lines.append(
                    f"{percent(fit.beyond)} of rows have predictions from {fit.what} at or beyond "
                    f"the bound of {fit.reach:.3g} halves of the target's range; is that range "
                    "where nearly all values lie?"
                )
        return [Finding("--score loss", text) for text in lines]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "rows": self.rows,
            "rows_without_values": self.rows_without_values,
            "fields": [field.to_dict() for field in self.fields],
            "people": None if self.people is None else self.people.to_dict(),
            "identities": [each.to_dict() for each in self.identities],
            "target": self.target,
            "repeats": [list(pair) for pair in self.repeats],
            "telling": [{"field": name, "r2": share} for name, share in self.telling],
            "bounds": [
                {
                    "what": fit.what,
                    "fields": list(fit.fields),
                    "coef_bound_binds": fit.is_bound,
                    "share_lost_to_coef_bound": fit.lost,
                    "prediction_bound": fit.reach,
                    "share_at_prediction_bound": fit.beyond,
                }
                for fit in self.fits
            ],
            "not_compared": list(self.not_compared),
            "ignored_columns": list(self.ignored),
            "findings": [{"about": one.about, "text": one.text} for one in self.findings],
        }
