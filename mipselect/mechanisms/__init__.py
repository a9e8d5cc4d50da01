"""Distributions over supports, items and rankings, each with its guarantee."""

from typing import TYPE_CHECKING

from mipselect.lookup import looked_up

if TYPE_CHECKING:
    from mipselect.mechanisms.base import Distribution, Mechanism, SupportMechanism
    from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling
    from mipselect.mechanisms.scores.base import Estimate, ScoreDistribution, ScoreMechanism
    from mipselect.mechanisms.scores.canonical import CanonicalLipschitz
    from mipselect.mechanisms.scores.heterogeneous import (
        GeneralizedExponential,
        RuleOfThumb,
        rule_of_thumb,
    )
    from mipselect.mechanisms.scores.heterogeneous_noisy_max import HeterogeneousNoisyMax
    from mipselect.mechanisms.scores.joint import JointExponential
    from mipselect.mechanisms.scores.noisy_max import NoisyMax
    from mipselect.mechanisms.scores.random_stopping import RandomStopping
    from mipselect.mechanisms.scores.randomized_response import RandomizedResponse
    from mipselect.mechanisms.scores.sample_aggregate import SampleAggregate
    from mipselect.mechanisms.scores.top_k import OneShotTopK, Peeling
    from mipselect.mechanisms.supports.exponential import ExponentialMechanism
    from mipselect.mechanisms.supports.metropolis import MetropolisHastings
    from mipselect.mechanisms.supports.mistakes import Mistakes
    from mipselect.mechanisms.supports.permute_and_flip import PermuteAndFlip
    from mipselect.mechanisms.supports.propose_test_release import StableOptimum
    from mipselect.mechanisms.supports.top_r import TopR

_HOMES = {
    "AdaptivePeeling": "scores.adaptive_peeling",
    "CanonicalLipschitz": "scores.canonical",
    "Distribution": "base",
    "Estimate": "scores.base",
    "ExponentialMechanism": "supports.exponential",
    "GeneralizedExponential": "scores.heterogeneous",
    "HeterogeneousNoisyMax": "scores.heterogeneous_noisy_max",
    "JointExponential": "scores.joint",
    "Mechanism": "base",
    "MetropolisHastings": "supports.metropolis",
    "Mistakes": "supports.mistakes",
    "NoisyMax": "scores.noisy_max",
    "OneShotTopK": "scores.top_k",
    "Peeling": "scores.top_k",
    "PermuteAndFlip": "supports.permute_and_flip",
    "RandomStopping": "scores.random_stopping",
    "RandomizedResponse": "scores.randomized_response",
    "RuleOfThumb": "scores.heterogeneous",
    "SampleAggregate": "scores.sample_aggregate",
    "ScoreDistribution": "scores.base",
    "ScoreMechanism": "scores.base",
    "StableOptimum": "supports.propose_test_release",
    "SupportMechanism": "base",
    "TopR": "supports.top_r",
    "rule_of_thumb": "scores.heterogeneous",
}

__all__ = [
    "AdaptivePeeling",
    "CanonicalLipschitz",
    "Distribution",
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
    "PermuteAndFlip",
    "RandomStopping",
    "RandomizedResponse",
    "RuleOfThumb",
    "SampleAggregate",
    "ScoreDistribution",
    "ScoreMechanism",
    "StableOptimum",
    "SupportMechanism",
    "TopR",
    "rule_of_thumb",
]

__getattr__ = looked_up(__name__, _HOMES)
