"""Fixture of these tests: the browser that looks at a page."""

from tests.support.browser import chromium

__all__ = ["chromium"]
