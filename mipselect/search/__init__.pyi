"""Names of the package and their modules: for types, and for `mipselect.lookup`."""

from mipselect.backends import available_solvers as available_solvers
from mipselect.backends import known_solvers as known_solvers
from mipselect.backends.protocols import SolverStatus as SolverStatus
from mipselect.backends.whole import whole_model as whole_model
from mipselect.search.options import DEFAULT_TOLERANCE as DEFAULT_TOLERANCE
from mipselect.search.pool import Effort as Effort
from mipselect.search.pool import MistakeLevels as MistakeLevels
from mipselect.search.pool import StrategyEffort as StrategyEffort
from mipselect.search.pool import SupportPool as SupportPool
from mipselect.search.progress import Progress as Progress
from mipselect.search.supports import mistake_levels as mistake_levels
from mipselect.search.supports import top_supports as top_supports
