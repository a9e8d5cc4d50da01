"""A check of a table as one HTML file, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from mipselect.cli.check_text import (
    FROM_WHERE,
    NOTHING,
    TITLES,
    cell_of,
    notes_of,
    rows_of,
    share_in_words,
)
from mipselect.cli.output import NOT_PRIVATE, SENSITIVE
from mipselect.quality import TableShares
from mipselect.tables import Finding, TableCheck
from mipselect.tables.check.kinds import KINDS
from mipselect.validation import printable

STYLE = """
body { font-family: sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; line-height: 1.4 }
.mark { border: 3px solid #b00020; color: #b00020; font-weight: bold; padding: .6rem 1rem }
.wide { overflow-x: auto }
table { border-collapse: collapse }
th, td { border: 1px solid #bbb; padding: .3rem .6rem; text-align: right; vertical-align: top }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere }
th { background: #f4f4f4 }
h1, li { overflow-wrap: anywhere; margin-bottom: .3rem }
"""


def check_page(check: TableCheck, title: str) -> str:
    """Write the curator's page, marked as sensitive at its top and in its title."""
    rows = [
        [field.name, *(cell_of(field.kinds[kind], field.rows) for kind in KINDS)]
        for field in check.fields
    ]
    return _page(
        f"SENSITIVE: check of {title}",
        SENSITIVE,
        [
            *(_paragraph(text) for text in notes_of(check)),
            _findings(check.findings),
            _table(["field", *(TITLES[kind] for kind in KINDS)], rows),
            _paragraph(FROM_WHERE),
        ],
    )


def shares_page(shares: TableShares, title: str) -> str:
    """Write the page of a private release."""
    private = shares.guarantee.private
    rows = [
        [
            field.name,
            *(
                share_in_words(field.share(kind))
                if kind in {share.name for share in field.shares}
                else ""
                for kind in KINDS
            ),
        ]
        for field in shares.fields
    ]
    size = [] if shares.rows is None else [f"{shares.rows:,} {rows_of(shares.unit)}."]
    return _page(
        f"{'' if private else 'NOT PRIVATE: '}Released shares of values of {title}",
        "" if private else NOT_PRIVATE,
        [
            *map(_paragraph, size),
            _findings(shares.findings),
            _table(["field", *(f"{TITLES[kind]}, %" for kind in KINDS)], rows),
            _paragraph(
                f"In brackets are {100.0 * shares.level:g} % intervals; the noise is all that is "
                "in them."
            ),
            _paragraph(f"Guarantee: {shares.guarantee.of_unit(shares.unit)}."),
        ],
    )


def _page(title: str, mark: str, parts: Iterable[str]) -> str:
    name = _text(title)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{name}</title><style>{STYLE}</style></head><body>",
            f'<p class="mark">{_text(mark)}</p>' if mark else "",
            f"<h1>{name}</h1>",
            *parts,
            "</body></html>",
            "",
        ]
    )


def _findings(findings: Sequence[Finding]) -> str:
    lines = [f"<li>{_text(str(finding))}.</li>" for finding in findings]
    if not lines:
        return f"<h2>Findings</h2>{_paragraph(NOTHING)}"
    return "\n".join(["<h2>Findings</h2><ul>", *lines, "</ul>"])


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(title)}</th>" for title in titles)
    body = ["<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join(
        ['<h2>Fields</h2><div class="wide"><table>', f"<tr>{head}</tr>", *body, "</table></div>"]
    )


def _paragraph(text: str) -> str:
    return f"<p>{_text(text)}</p>"


def _text(text: str) -> str:
    return escape(printable(text))
