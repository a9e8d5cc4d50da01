"""Contents of a privacy card.

The parts are those of the registry of deployments of differential privacy that OpenDP and NIST
have begun: Nanayakkara, Ghazi and Vadhan, "Practitioners' perspectives on a differential privacy
deployment registry", 2025.
"""

from __future__ import annotations

from mipselect.cli.card_model import REGRESSIONS, chosen, of_a_model
from mipselect.cli.card_parts import Card, CardPart, Entry, blank
from mipselect.cli.public_fields import PUBLIC_FIELDS, public_under
from mipselect.privacy.guarantee import ROW, Guarantee, is_row, neighbours
from mipselect.reports.released import ReportedRelease
from mipselect.reports.words import HOPELESS, amount, factor
from mipselect.selectors.exact_draws import sizes_in_words

MECHANISMS = {
    "permute-and-flip": "permute-and-flip over all supports, drawn exactly (McKenna and Sheldon "
    "2020)",
    "exponential": "the exponential mechanism over all supports, drawn exactly (McSherry and "
    "Talwar 2007)",
    "top-r": "top-R: the exponential mechanism over the proven best supports and, as one class, "
    "all others",
    "mistakes": "mistakes: the exponential mechanism over the number of mistakes of a support",
    "sis": "sure independence screening with a private choice of the largest correlations",
    "kendall": "peeling by the exponential mechanism on Kendall rank correlations",
    "sample-aggregate": "sample and aggregate: a private choice among the votes of blocks of rows",
    "mcmc": "a Metropolis chain whose law is that of the exponential mechanism in the limit",
}
"""The methods of the command line in words."""


MODEL = CardPart(
    "Model",
    (
        Entry(
            "Trust model",
            "Central: the curator holds the data in the clear, and only the release leaves.",
        ),
        blank("Who had access to the data"),
        Entry("Release", "Made once, of a fixed table; nobody can ask further questions."),
    ),
)


def card_of(read: ReportedRelease) -> Card:
    """Make the card of a release."""
    return Card(
        f"Privacy card: {read.data}",
        (_facts(read), _loss(read), MODEL, _accounting(read), _implementation(read)),
    )


def _facts(read: ReportedRelease) -> CardPart:
    about = "" if read.target is None else f" that explain {read.target}"
    return CardPart(
        "Basic facts",
        (
            blank("Name of the study"),
            blank("Data curator"),
            blank("Intended use"),
            Entry("Data", read.data),
            blank("People in the data"),
            *(_products(read, about) if read.model is None else of_a_model(read.model, about)),
            blank("Date and place of publication"),
            blank("Legal basis and approval"),
        ),
    )


def _products(read: ReportedRelease, about: str) -> list[Entry]:
    """Describe the released names of columns."""
    drawn = [(release.support, release.feature_names) for release in read.releases]
    return [
        Entry("Data product", f"Names of columns{about}; no coefficients, no values."),
        *(Entry(f"Release {k}", ", ".join(chosen(*one))) for k, one in enumerate(drawn, start=1)),
    ]


def _loss(read: ReportedRelease) -> CardPart:
    total, one = read.guarantee, read.drawn[0].guarantee
    unit = None if read.unit == ROW else f"All rows of one {read.unit}, made one row."
    if read.unit_condition and read.ledger is not None:
        unit = f"One row. It is one {read.ledger.unit} only if {read.unit_condition}."
    elif read.ledger is not None:
        whose = "One row" if unit is None else unit[:-1]
        named = "" if is_row(read.ledger.unit) else f", which stands for one {read.ledger.unit}"
        unit = f"{whose}{named}."
    conditions = [*total.conditions, *filter(None, [read.unit_condition])]
    differ = neighbours(total.relation, read.unit)
    rho, pure = total.concentrated, total.delta == 0.0
    kind = "Pure differential privacy (ε)" if pure else "Approximate differential privacy (ε, δ)"
    return CardPart(
        "Privacy unit and privacy loss",
        (
            Entry("Kind of privacy", f"{kind}."),
            blank("Privacy unit", unit),
            Entry("Neighbouring tables", f"Tables that differ by {differ}."),
            Entry("Privacy loss of one draw", amount(one)),
            Entry("Privacy loss of this release", amount(total)),
            *(() if rho is None else (Entry("In zero-concentrated privacy", f"ρ = {rho:.6g}"),)),
            Entry("What that means", _meaning(total, differ)),
            Entry("Conditions", "; ".join(conditions) or "None."),
        ),
    )


def _accounting(read: ReportedRelease) -> CardPart:
    draws = len(read.releases)
    how = "One draw." if draws == 1 else f"{draws} independent draws; ε and δ are added up."
    if read.model is not None:
        how = (
            "Features, then their coefficients; ε and δ of both are added up, and charged at once."
        )
        if read.features_of is not None:
            how = (
                "The coefficients alone: the features are those of another release, which counts "
                f"by itself (SHA-256 {read.features_of})."
            )
        if read.model.quality is not None:
            how += " The quality is of rows that were kept apart from both, and adds nothing."
    if read.ledger is None:
        remembered = Entry("Ledger", "None: nothing remembers this release.")
    else:
        remembered = Entry(
            "Ledger",
            f"Charged to ledger {read.ledger.identity} before the draw; its row "
            f"{read.ledger.number} has the SHA-256 {read.ledger.hash}.",
        )
    return CardPart(
        "Accounting",
        (
            Entry("Composition", how),
            remembered,
            blank("Other releases from the same data"),
            Entry("After the draw", "Nothing was changed or left out of what was drawn."),
        ),
    )


def _implementation(read: ReportedRelease) -> CardPart:
    public = [
        f"{PUBLIC_FIELDS[name].words}: {_number(read.settings[name])}"
        for name in public_under(read.guarantee.relation)
        if name in read.settings
    ]
    if read.sizes is not None:
        public.append(f"sizes: {sizes_in_words(read.sizes)}")
    if read.intercept:
        public.append("with an intercept")
    if read.always:
        public.append("always in: " + ", ".join(read.always))
    software = f"mipselect {read.version}"
    if read.solver is not None:
        software += f", solver {read.solver}"
    return CardPart(
        "Implementation",
        (
            Entry("Mechanism", _mechanism(read)),
            Entry("Software", software),
            Entry("Public settings", "; ".join(public)),
            *(
                (Entry("Columns that could be chosen", ", ".join(read.candidates)),)
                if read.candidates
                else ()
            ),
            blank("Where the public settings came from"),
            blank("Preparation of the data"),
            Entry(
                "Randomness",
                "From the operating system's generator; draws that are stated as exact are made in "
                "integers.",
            ),
            *(
                Entry("Note", note[:1].upper() + note[1:])
                for note in (() if read.model is None else read.model.footnotes)
            ),
            Entry(
                "Not covered",
                "How long the computation took, whether it ended, and whatever else is published "
                "about these data.",
            ),
        ),
    )


def _mechanism(read: ReportedRelease) -> str:
    assert read.method is not None
    selection = MECHANISMS.get(read.method, read.method)
    if read.regression is None:
        return selection
    return f"{selection}; then {REGRESSIONS.get(read.regression, read.regression)}"


def _meaning(total: Guarantee, differ: str) -> str:
    if total.epsilon >= HOPELESS:
        return (
            f"Nothing that protects a person: the chance of a result may change by a factor of "
            f"e^{total.epsilon:.6g} by {differ}."
        )
    rest = f", but for a probability of {total.delta:.3g}" if total.delta > 0.0 else ""
    return (
        f"By {differ} no result becomes more than {factor(total.epsilon)} times as "
        f"likely, or less likely by more than that factor{rest}."
    )


def _number(value: float | str | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        return f"{min(value):.15g} to {max(value):.15g}, by feature"
    return value if isinstance(value, str) else f"{value:.15g}"
