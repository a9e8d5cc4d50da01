"""Fixtures of these tests: one browser for all of them."""

from tests.support.browser import chromium
from tests.support.schema_form import opened

__all__ = ["chromium", "opened"]
