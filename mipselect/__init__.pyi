"""Names of the package and their modules: for types, and for `mipselect.lookup`."""

from mipselect.errors import MipselectError as MipselectError
from mipselect.errors import NotCertified as NotCertified
from mipselect.mechanisms import ExponentialMechanism as ExponentialMechanism
from mipselect.mechanisms import Mistakes as Mistakes
from mipselect.mechanisms import PermuteAndFlip as PermuteAndFlip
from mipselect.mechanisms import StableOptimum as StableOptimum
from mipselect.mechanisms import TopR as TopR
from mipselect.privacy import Guarantee as Guarantee
from mipselect.privacy import Ledger as Ledger
from mipselect.privacy import Release as Release
from mipselect.problem.block_scores import BlockScores as BlockScores
from mipselect.problem.instance import Instance as Instance
from mipselect.problem.problem import Problem as Problem
from mipselect.problem.stored import load_instance as load_instance
from mipselect.search import MistakeLevels as MistakeLevels
from mipselect.search import SupportPool as SupportPool
from mipselect.search import available_solvers as available_solvers
from mipselect.search import mistake_levels as mistake_levels
from mipselect.search import top_supports as top_supports
from mipselect.search import whole_model as whole_model
from mipselect.tables.moments import Moments as Moments

__version__: str
