"""Reports that people read: a set of releases as HTML or Markdown, in plain words."""

from mipselect.reports.release_report import ReleaseReport

__all__ = ["ReleaseReport"]
