"""Names of the package and their modules: for types, and for `mipselect.lookup`."""

from mipselect.mechanisms.base import Distribution as Distribution
from mipselect.mechanisms.base import Mechanism as Mechanism
from mipselect.mechanisms.base import SupportMechanism as SupportMechanism
from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling as AdaptivePeeling
from mipselect.mechanisms.scores.base import ScoreMechanism as ScoreMechanism
from mipselect.mechanisms.scores.canonical import CanonicalLipschitz as CanonicalLipschitz
from mipselect.mechanisms.scores.heterogeneous import (
    GeneralizedExponential as GeneralizedExponential,
)
from mipselect.mechanisms.scores.heterogeneous import HeterogeneousNoisyMax as HeterogeneousNoisyMax
from mipselect.mechanisms.scores.joint import JointExponential as JointExponential
from mipselect.mechanisms.scores.noisy_max import NoisyMax as NoisyMax
from mipselect.mechanisms.scores.random_stopping import RandomStopping as RandomStopping
from mipselect.mechanisms.scores.randomized_response import RandomizedResponse as RandomizedResponse
from mipselect.mechanisms.scores.sample_aggregate import SampleAggregate as SampleAggregate
from mipselect.mechanisms.scores.top_k import OneShotTopK as OneShotTopK
from mipselect.mechanisms.scores.top_k import Peeling as Peeling
from mipselect.mechanisms.supports.exponential import ExponentialMechanism as ExponentialMechanism
from mipselect.mechanisms.supports.metropolis import MetropolisHastings as MetropolisHastings
from mipselect.mechanisms.supports.mistakes import Mistakes as Mistakes
from mipselect.mechanisms.supports.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from mipselect.mechanisms.supports.propose_test_release import StableOptimum as StableOptimum
from mipselect.mechanisms.supports.top_r import TopR as TopR
