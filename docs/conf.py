"""Settings of Sphinx for the site of `make docs`; CONTRIBUTING says why it is Sphinx."""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

# One thread for every worker, and no display.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")
sys.path.insert(0, str(Path(__file__).parent))

from public_names import places, write_pages

PLACES = places()
write_pages(Path(__file__).parent / "reference")

project = "mipselect"
author = "the mipselect developers"
copyright = "2026, the mipselect developers"
release = version = installed_version("mipselect")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip"]
templates_path = ["_templates"]
default_role = "autolink"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
# Numbers of statements, (1), (2), ..., are no lists; $ in shell examples is no mathematics.
myst_dmath_allow_labels = False

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Of numpydoc's checks those that find what is wrong. Not PR01 and PR03: results are dataclasses,
# whose attributes are their parameters, and parameters that mean the same are documented together.
# Not those of typography: sentences here may begin with ε. Examples are checked by the tests.
numpydoc_validation_checks = {
    *("GL06", "GL07", "GL10", "SS01", "PR02", "PR05", "PR06", "PR10", "YD01", "SA04"),
}
numpydoc_validation_exclude = {r"\._"}

html_theme = "pydata_sphinx_theme"
html_title = f"mipselect {release}"
html_static_path = ["_static"]
html_css_files = ["mipselect.css"]
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "changelog": []}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "remove_config_comments": True,
    "thumbnail_size": (400, 280),
    "doc_module": (),
}


def _of_the_site(app: Any, name: str, source: list[str]) -> None:
    """Make pages that live beside docs/ pages of the site as well."""
    for page in ("CONTRIBUTING", "SECURITY", "CHANGELOG"):
        above = _up(name) + "../"
        source[0] = source[0].replace(f"]({above}{page}.md", f"]({_up(name)}{page.lower()}.md")


def _up(name: str) -> str:
    return "../" * name.count("/")


def _links(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Make a link of `Instance` wherever it is written, and keep |x| a number."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            plain = re.sub(r"(?<!\\)\|", r"\\|", line)
            lines[k] = re.sub(r"(?<![`:\w])`(\w+)`(?!`)", _linked, plain)


def _linked(found: re.Match[str]) -> str:
    name = found[1]
    return f":py:obj:`{name} <{PLACES[name]}>`" if name in PLACES else found[0]


def setup(app: Any) -> None:
    """Connect the functions above to Sphinx."""
    app.connect("source-read", _of_the_site)
    app.connect("autodoc-process-docstring", _links)
