"""Private measures of how good the predictions of a model are."""

from mipselect.quality.measures import Measure, Quality, ShareInBin

__all__ = ["Measure", "Quality", "ShareInBin"]
