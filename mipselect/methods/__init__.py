"""From (data, method, options) to a mechanism: the one way, for selectors and command line.

A new method is a frozen dataclass with its options, in the file of its family; whoever takes
methods by name names it. A `SupportMethod` draws from the values of an `Instance`, a `RowsMethod`
from scores of its own that need fewer public bounds.
"""

from mipselect.methods.base import (
    PrivateMethod,
    Rows,
    RowsMethod,
    ScoreMethod,
    SupportMethod,
    rows_of,
)
from mipselect.methods.correlations import SISMethod
from mipselect.methods.exponential import ExponentialMethod
from mipselect.methods.kendall import KendallMethod
from mipselect.methods.mcmc import MCMCMethod
from mipselect.methods.posed import mechanism_of
from mipselect.methods.sample_aggregate import SampleAggregateMethod
from mipselect.methods.searched import MistakesMethod, SearchSettings, TopRMethod
from mipselect.methods.streamed import StreamedRows
from mipselect.methods.summed import SummedRows

__all__ = [
    "ExponentialMethod",
    "KendallMethod",
    "MCMCMethod",
    "MistakesMethod",
    "PrivateMethod",
    "Rows",
    "RowsMethod",
    "SISMethod",
    "SampleAggregateMethod",
    "ScoreMethod",
    "SearchSettings",
    "StreamedRows",
    "SummedRows",
    "SupportMethod",
    "TopRMethod",
    "mechanism_of",
    "rows_of",
]
