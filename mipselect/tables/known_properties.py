"""Properties of a Table Schema that are written nearly right: refused, for they would do nothing.

A property that nobody knows is kept and ignored, as the standard asks. So a misspelt minimum, or a
misspelt person column, would change a result, or what it protects, in silence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from mipselect.tables.derived import FEATURES
from mipselect.tables.fields import PROPOSED, ROLE

OF_CSVW_EO = ("csvw-eo:privacyUnit", "csvw-eo:maxContributions")

USED_OF_TABLES = (*OF_CSVW_EO, FEATURES, "missingValues")
USED_OF_FIELDS = (
    *("type", "format", "constraints", "categories", "categoriesOrdered", "missingValues"),
    *("trueValues", "falseValues", "decimalChar", "groupChar", ROLE, PROPOSED),
)
USED_OF_CONSTRAINTS = ("minimum", "maximum", "required", "enum")
"""Those that change what a field becomes; nothing else is looked for in a misspelt name."""

OF_TABLES = (
    *("$schema", "name", "title", "description", "profile", "fields", "fieldsMatch"),
    *("primaryKey", "uniqueKeys", "foreignKeys", *USED_OF_TABLES),
)
OF_FIELDS = (
    *("name", "title", "description", "example", "examples", "rdfType", "itemType"),
    *("bareNumber", "delimiter", "unit", *USED_OF_FIELDS),
)
OF_CONSTRAINTS = (
    *("unique", "pattern", "minLength", "maxLength", "jsonSchema"),
    *("exclusiveMinimum", "exclusiveMaximum", *USED_OF_CONSTRAINTS),
)
"""All properties of the standard, of CSVW-EO and of our own, at each level."""

OUR_OWN = "mipselect:"


def misspelt_properties(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for every property of a schema that is nearly a known one, or at a wrong place.

    Parameters
    ----------
    content : mapping
        A Table Schema whose shape is known to be right.
    """
    yield from _misspelt("", content, OF_TABLES, USED_OF_TABLES, {})
    of_constraints = {name: f"constraints.{name} of a field" for name in USED_OF_CONSTRAINTS}
    of_a_table = {name: f"{name} of the table, beside fields" for name in (*OF_CSVW_EO, FEATURES)}
    of_a_field = {name: f"{name} of the field, beside constraints" for name in USED_OF_FIELDS}
    for j, field in enumerate(content["fields"]):
        at = f"fields[{j}]."
        elsewhere = {**of_constraints, **of_a_table}
        yield from _misspelt(at, field, OF_FIELDS, USED_OF_FIELDS, elsewhere)
        constraints, at = field.get("constraints", {}), f"{at}constraints."
        yield from _misspelt(at, constraints, OF_CONSTRAINTS, USED_OF_CONSTRAINTS, of_a_field)


def _misspelt(
    at: str,
    content: Mapping[str, Any],
    known: Collection[str],
    used: Collection[str],
    elsewhere: Mapping[str, str],
) -> Iterator[str]:
    """Yield lines for one object; `elsewhere` says where properties of other levels stand."""
    for name in content:
        if name in known:
            continue
        near = [one for one in (*used, *elsewhere) if is_near(name, one)]
        if near:
            (meant,) = get_close_matches(name, near, n=1, cutoff=0.0)
            yield f"{at}{name} is no property here; did you mean {elsewhere.get(meant, meant)}?"
        elif name.startswith(OUR_OWN):
            listed = ", ".join(sorted(one for one in known if one.startswith(OUR_OWN)))
            yield f"{at}{name}: there is no such property; known here: {listed or 'none'}"


def is_near(name: str, known: str) -> bool:
    """Return whether a name has the letters of a known one, but for case, signs and one or two.

    One letter may differ where the known name has six or less. The prefix of a known name may be
    lacking, or be another one, where the rest has ten letters or more.

    Examples
    --------
    >>> is_near("minimun", "minimum"), is_near("true_values", "trueValues")
    (True, True)
    >>> is_near("privacyUnit", "csvw-eo:privacyUnit"), is_near("informat", "format")
    (True, False)
    """
    _, prefixed, rest = known.rpartition(":")
    own = name.rpartition(":")[2]
    if prefixed and len(rest) >= 10 and _differ(own, rest):
        return True
    # A word with the prefix of another vocabulary, such as dc:format, is not ours.
    return bool(prefixed) == (":" in name) and _differ(name, known)


def _differ(name: str, known: str) -> bool:
    """Return whether two words differ by so few letters that one is the other."""
    one, other = (re.sub(r"[^a-z0-9]", "", word.casefold()) for word in (name, known))
    most = 1 if len(other) <= 6 else 2
    if abs(len(one) - len(other)) > most:
        return False
    steps = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    letters = sum(max(b - a, d - c) for tag, a, b, c, d in steps if tag != "equal")
    return letters <= most or sorted(one) == sorted(other)
