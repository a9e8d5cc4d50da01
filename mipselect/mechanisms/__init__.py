"""Distributions over supports, items and rankings, each with its guarantee."""

from mipselect.mechanisms.adaptive_peeling import AdaptivePeeling
from mipselect.mechanisms.base import Mechanism, SupportMechanism
from mipselect.mechanisms.canonical import CanonicalLipschitz
from mipselect.mechanisms.exponential import ExponentialMechanism
from mipselect.mechanisms.heterogeneous import (
    GeneralizedExponential,
    HeterogeneousNoisyMax,
    RuleOfThumb,
    rule_of_thumb,
)
from mipselect.mechanisms.joint import JointExponential
from mipselect.mechanisms.metropolis import MetropolisHastings
from mipselect.mechanisms.mistakes import Mistakes
from mipselect.mechanisms.noisy_max import NoisyMax
from mipselect.mechanisms.random_stopping import RandomStopping
from mipselect.mechanisms.randomized_response import RandomizedResponse
from mipselect.mechanisms.sample_aggregate import SampleAggregate
from mipselect.mechanisms.scores import Estimate, ScoreMechanism
from mipselect.mechanisms.top_k import OneShotTopK, Peeling
from mipselect.mechanisms.top_r import TopR

__all__ = [
    "AdaptivePeeling",
    "CanonicalLipschitz",
    "Estimate",
    "ExponentialMechanism",
    "GeneralizedExponential",
    "HeterogeneousNoisyMax",
    "JointExponential",
    "Mechanism",
    "MetropolisHastings",
    "Mistakes",
    "NoisyMax",
    "OneShotTopK",
    "Peeling",
    "RandomStopping",
    "RandomizedResponse",
    "RuleOfThumb",
    "SampleAggregate",
    "ScoreMechanism",
    "SupportMechanism",
    "TopR",
    "rule_of_thumb",
]
