"""The guarantee in plain words: what it says of one person, and what it does not say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mipselect.documents.blocks import Alert, Block, BulletList, Heading, Paragraph, TextTable
from mipselect.privacy import Guarantee
from mipselect.privacy.guarantee import ROW, is_row, neighbours
from mipselect.reports.released import ReportedRelease, unit_conditions, units_of
from mipselect.reports.words import HOPELESS, RULES, amount, conclusion, factor, people_in_words
from mipselect.validation import joined

SEEDED = (
    "NOT PRIVATE: {} drawn with a seed. Whoever knows the seed can repeat the draw, so that "
    "nothing is guaranteed to anybody. Such numbers are for tests, and not for publication."
)
NOT_SAID = (
    "It does not say that nothing can be concluded about a person. What holds of people in "
    "general, such as that an illness is frequent at an age, can be concluded about anybody of "
    "that age, in the table or not.",
    "It does not cover how long the computation took, what was published before without a "
    "guarantee, or what people with access to the table tell.",
    "Another release from the same data adds its ε and its δ.",
)
STRONG, WEAK = 1.0, 5.0
"""ε up to which a conclusion is nearly the same, and above which the limit is a weak one."""

BEFORE = 0.5
"""Probability in the example."""


def guarantee_blocks(releases: Sequence[ReportedRelease], total: Guarantee) -> Iterator[Block]:
    """State what all releases together guarantee, the unit first."""
    units = units_of(releases)
    unit = units[0] if len(units) == 1 else ROW
    yield Heading(2, "What is guaranteed to the people in the data")
    yield Paragraph(_whose(releases, units))
    if not all(one.private for one in releases):
        yield from seeded_alert(releases)
        yield Paragraph("For draws without a seed the following would hold.")
    yield Paragraph(_bound(total))
    if total.epsilon < HOPELESS:
        yield Paragraph(_example(total))
    if total.delta > 0.0:
        yield Paragraph(
            f"With a probability of δ = {total.delta:.15g} in all, about one in "
            f"{1.0 / total.delta:,.0f}, the bound may not hold."
        )
    conditions = (*total.conditions, *unit_conditions(releases))
    yield TextTable(
        ("what", "here"),
        (
            ("privacy loss of all releases", amount(total)),
            ("neighbouring tables", f"differ by {neighbours(total.relation, unit)}"),
            ("conditions", "; ".join(conditions) or "none"),
        ),
    )
    yield Paragraph("What the guarantee does not say:")
    yield BulletList(NOT_SAID)


def seeded_alert(releases: Sequence[ReportedRelease]) -> Iterator[Alert]:
    """Name those that were drawn with a seed; nothing where none was."""
    if seeded := [one.name for one in releases if not one.private]:
        yield Alert(SEEDED.format(f"{joined(seeded)} {'was' if len(seeded) == 1 else 'were'}"))


def _whose(releases: Sequence[ReportedRelease], units: Sequence[str]) -> str:
    if list(units) == [ROW]:
        about = "The guarantee is about one row of the table."
        if not (conditions := unit_conditions(releases)):
            return f"{about} It is about a person if nobody has more than one row."
        return (
            f"{about} It is about one {joined(_counted(releases))} only on the condition that "
            f"{joined(conditions)}: the table does not say whose row is whose."
        )
    named = _counted([one for one in releases if one.unit != ROW])
    stands = f", which stands for one {joined(named)}" if named else ""
    known = [unit for unit in units if unit != ROW]
    said = (
        f"The guarantee is about all rows with the same {joined(known)}, made one row{stands}: it "
        "covers everything that the table holds about that one."
    )
    rules = ((one.unit, one.settings.get("unit_rule")) for one in releases)
    for unit, rule in dict.fromkeys(each for each in rules if each[1] in RULES):
        said += f" {people_in_words(unit, str(rule))}."
    if ROW in units:
        said += " Some releases are about one row only: together they are about one row."
    return said


def _counted(releases: Sequence[ReportedRelease]) -> list[str]:
    """Return what ledgers count a row as, each once, where that is more than a row."""
    units = dict.fromkeys(one.ledger.unit for one in releases if one.ledger)
    return [unit for unit in units if not is_row(unit)]


def _bound(total: Guarantee) -> str:
    if total.relation == "add-remove":
        without = "if this person were not in the table"
    else:
        without = "if this person had given any other answers"
    if total.epsilon >= HOPELESS:
        return (
            f"With ε = {total.epsilon:.6g} there is no protection to speak of: the probability of "
            f"a result may differ by a factor of e^{total.epsilon:.6g} from what it would have "
            f"been {without}."
        )
    size = f"{factor(total.epsilon)}, which is e^ε for ε = {total.epsilon:.15g}"
    if total.epsilon <= STRONG:
        return (
            "Whatever anybody concludes about one person from this report, they would have "
            f"concluded nearly as well {without}: no result would have been more probable, or "
            f"less, by more than a factor of {size}."
        )
    weak = " That is a weak limit." if total.epsilon > WEAK else ""
    return (
        "What anybody can conclude about one person from this report is limited: no result would "
        f"have been more probable, or less, by more than a factor of {size}, {without}.{weak}"
    )


def _example(total: Guarantee) -> str:
    """Describe the largest step of somebody who knew everything else, from even odds."""
    if total.relation == "add-remove":
        question = "whether a person is in the table"
    else:
        question = "which of two answers a person gave"
    after = conclusion(total.epsilon, BEFORE)
    return (
        f"For example: somebody knows all other rows and wonders {question}, both being equally "
        f"likely to them. After this report they can be sure of one to {after} at most."
    )
