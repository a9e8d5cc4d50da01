"""Private measures of a released model: how good are its predictions on rows it has not seen?"""

from mipselect.quality.measures import Measure, Quality, ShareInBin

__all__ = ["Measure", "Quality", "ShareInBin"]
