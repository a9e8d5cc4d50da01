"""Faults of `tests.soak.mutations`: a file, its text, that of the fault, and what notices it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One change, why it is a fault, and the tests of which one must fail."""

    file: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...]


def within(folder: str, *changes: tuple[str, str, str, str, str]) -> tuple[Mutation, ...]:
    """Changes of files of one folder, whose tests are in the folder of the same name."""
    return tuple(
        Mutation(
            f"mipselect/{folder}/{file}",
            old,
            new,
            why,
            tuple(
                f"tests/{test}" if "/" in test else f"tests/{folder}/{test}"
                for test in tests.split()
            ),
        )
        for file, old, new, why, tests in changes
    )


SEARCH = within(
    "search",
    (
        "least_squares/node.py",
        "return 16.0 * EPS * (columns + 1) * growth * self.problem.target_norm",
        "return 0.0 * (columns + growth)",
        "bounds of nodes allow nothing for rounding",
        "test_rounding_allowances.py::test_a_bound_holds_in_exact_arithmetic",
    ),
    (
        "least_squares/shares.py",
        "others = min(node.size, len(node.live)) - 1",
        "others = min(node.size, len(node.live)) - 2",
        "the share of a feature leaves out one of the others",
        "test_cuts.py::test_sparse_diagonal_cuts_and_shares",
    ),
    (
        "least_squares/cuts.py",
        "for rows, worst in ((inside, count), (~inside, count - 1)):",
        "for rows, worst in ((inside, count - 1), (~inside, count - 1)):",
        "a cut counts one feature too few beside those of its support",
        "test_cuts.py::test_sparse_diagonal_cuts_and_shares",
    ),
    (
        "pool.py",
        "proven = self.rest_bound >= self.values[-1] - self.allowance",
        "proven = True",
        "a pool is certified without a bound on the rest",
        "test_limits_and_failures.py::test_a_pool_that_is_not_what_it_says_is_not_certified",
    ),
    (
        "pool.py",
        "return bool(in_place and proven and self.gap >= 0.0)",
        "return bool(in_place and proven)",
        "levels are certified around a support that is not the best",
        "test_limits_and_failures.py::test_levels_that_are_not_what_they_say_are_not_certified",
    ),
    (
        "pool.py",
        "return self.sensitivity * (1.0 + self.tolerance)",
        "return self.sensitivity",
        "values known up to a tolerance count as exact",
        "mechanisms/test_laws.py::test_laws_are_the_stated_ones",
    ),
    (
        "collectors.py",
        "self.settled = -math.inf if math.isnan(bound) else min(self.settled, bound)",
        "self.settled = self.settled if math.isnan(bound) else min(self.settled, bound)",
        "a bound that is no number proves what it stands for",
        "test_not_a_number.py::test_collectors",
    ),
)

BACKENDS = within(
    "backends",
    (
        "cuts.py",
        "self._constants -= 4.0 * EPS * (size + 4) * sizes",
        "self._constants -= 0.0 * sizes",
        "proofs from cuts allow nothing for rounding",
        "search/test_rounding_allowances.py::test_a_bound_holds_in_exact_arithmetic",
    ),
    (
        "cuts.py",
        "constant = (-tight.constant - floor) / unit - largest_sum(terms[small], count)",
        "constant = (-tight.constant - floor) / unit",
        "small coefficients of a cut are left out for nothing",
        "search/test_cutting_loop.py::test_a_scaled_cut_is_never_above_what_it_was_made_of",
    ),
)

RESTRICTED = within(
    "restricted",
    (
        "squared.py",
        'ridge_term = self.ridge * np.einsum("mi,mi->m", coef, coef)',
        'ridge_term = 0.5 * self.ridge * np.einsum("mi,mi->m", coef, coef)',
        "half of the ridge is missing from a value",
        "test_squared.py::test_the_solution_satisfies_the_optimality_conditions",
    ),
    (
        "certified.py",
        "return Solutions(coef, values, np.maximum(gaps, 0.0), dual)",
        "return Solutions(coef, values, np.zeros_like(gaps), dual)",
        "a solution has no duality gap, whatever it is worth",
        "test_restricted_problems.py::test_settled_rows_change_no_value",
    ),
    (
        "fenchel.py",
        "off = roundings_of_sum(points.shape[1]) * EPS * np.linalg.norm(points, axis=1)",
        "off = 0.0 * np.linalg.norm(points, axis=1)",
        "products with dual points allow nothing for rounding",
        "test_rounding.py::test_products_of_columns_and_dual_points",
    ),
)

MECHANISMS = within(
    "mechanisms",
    (
        "base.py",
        "with paid(ledger, stated, self.name),",
        "with paid(None, stated, self.name),",
        "a draw is not charged to the ledger",
        "privacy/test_ledger.py::test_a_seeded_draw_is_marked_in_the_books",
    ),
    (
        "supports/base.py",
        "logs: FloatArray = -epsilon * ((values - values[0]) / (2.0 * sensitivity))",
        "logs: FloatArray = -epsilon * ((values - values[0]) / sensitivity)",
        "the law of supports is drawn at twice its ε",
        "test_laws.py::test_laws_are_the_stated_ones",
    ),
    (
        "supports/base.py",
        "return round_up(exact(epsilon) / 2 * (1 + t / (1 + t)))",
        "return round_up(exact(epsilon) / 2)",
        "under add-remove the tolerance of values costs nothing",
        "test_relations.py::test_top_r_pays_for_what_its_tolerance_leaves_open",
    ),
    (
        "supports/top_r.py",
        "multiplicities = {len(pool): pool.number_unlisted}",
        "multiplicities = {len(pool): 1}",
        "all unlisted supports together weigh as one",
        "test_laws.py::test_laws_are_the_stated_ones",
    ),
    (
        "supports/mistakes.py",
        "if self._tested is None and not exceeds_condition(levels.gap, levels.sensitivity):",
        "if self._tested is None and levels.gap < 0.0:",
        "a draw with a condition does not refuse where it does not hold",
        "test_laws.py::test_mistakes_refuses_to_release_where_its_condition_is_not_proven",
    ),
    (
        "supports/propose_test_release.py",
        "distance = max(0.0, self.gap / (2.0 * self.sensitivity) - 1.0 - ROUNDING)",
        "distance = max(0.0, self.gap / (2.0 * self.sensitivity) - ROUNDING)",
        "the test of the gap passes one row too near",
        "test_privacy.py::"
        "test_the_test_of_the_gap_passes_with_at_most_delta_where_the_condition_fails",
    ),
    (
        "scores/base.py",
        "products: FloatArray = (gaps / sensitivity) * (epsilon / 2.0)",
        "products: FloatArray = (gaps / sensitivity) * epsilon",
        "noise on scores is half of what it has to be",
        "test_score_privacy.py::test_no_search_finds_more_than_is_stated",
    ),
    (
        "scores/base.py",
        "return epsilon - cost",
        "return epsilon",
        "what rounding can do to scores is not paid for",
        "test_scores.py::test_what_can_be_spent",
    ),
    (
        "scores/adaptive_peeling.py",
        "return round_down(exact(self.epsilon) / self.k)",
        "return round_down(exact(self.epsilon) / max(1, self.k - 1))",
        "k rounds cost more than ε together",
        "test_score_laws.py::test_probabilities_are_those_of_all_orders",
    ),
)

PRIVACY = within(
    "privacy",
    (
        "accountant.py",
        "if any(price > left[name] for name, price in prices.items()):",
        "if any(price > 2 * left[name] for name, price in prices.items()):",
        "a ledger is overdrawn",
        "test_ledger.py::test_the_refusal_says_what_is_left",
    ),
    (
        "accountant.py",
        "if guarantee.relation != terms.relation:",
        "if guarantee.relation not in (terms.relation, 'add-remove'):",
        "ε under add-remove is charged as under replace-one",
        "test_ledger.py::test_relations_are_not_mixed",
    ),
    (
        "ledger_file.py",
        "if seen is not None and chain.rows[seen.number] != seen:",
        "if seen is not None and not chain.rows:",
        "an older copy of a ledger is accepted in its place",
        "test_ledger_rollback.py::test_what_was_seen_must_be_there",
    ),
    (
        "ledger_file.py",
        "if row.hash != digest(*row[:5]):",
        "if not row.hash:",
        "a row that was changed by hand is accepted",
        "test_ledger_file.py::test_what_was_changed_by_hand_is_found_and_nothing_is_paid",
    ),
    (
        "concentrated.py",
        "return _rounded_up(exact(epsilon) ** 2 / 2)",
        "return _rounded_up(exact(epsilon) ** 2 / 8)",
        "every pure draw is taken for an exponential mechanism",
        "test_composition.py::test_rho_of_an_epsilon_is_rounded_up_and_back_down",
    ),
    (
        "randomness.py",
        "return random.Random(int(rng)), False",
        "return random.Random(int(rng)), True",
        "a seeded draw is called private",
        "test_randomness.py::test_who_may_call_a_draw_private",
    ),
    (
        "guarantee.py",
        "epsilon = 2 * exact(self.epsilon)",
        "epsilon = exact(self.epsilon)",
        "replacing a row costs as much as removing one",
        "test_guarantee.py::test_add_remove_is_twice_that_under_replace_one",
    ),
)

TABLES = within(
    "tables",
    (
        "encoders.py",
        "scaled[missing] = self.gap",
        "scaled[missing] = np.roll(scaled, 1)[missing]",
        "a missing value is taken from the row before",
        "test_public_map.py::test_every_value_becomes_what_the_page_says",
    ),
    (
        "encoders.py",
        "v /= self.high - self.low",
        "v /= max(self.high - self.low, float(np.nanmax(np.abs(numbers), initial=0.0)))",
        "a range follows the largest value of the table",
        "test_public_map.py",
    ),
    (
        "public_map.py",
        "found = np.clip(values.numbers(column, weight), 0.0, weight.maximum)",
        "found = np.clip(values.numbers(column, weight), 0.0, None)",
        "a weight above the public maximum counts whole",
        "test_roles.py::test_values_one_by_one",
    ),
)

REGRESSION = within(
    "regression",
    (
        "adassp.py",
        '"replace-one": (math.sqrt(2.0), 1.0, 2.0),',
        '"replace-one": (1.0, 1.0, 1.0),',
        "a row that is replaced moves sums as one that is added",
        "test_adassp.py::test_all_noise_together_is_within_mu",
    ),
    (
        "perturbed_objective.py",
        "return Perturbation(ridge, change / (epsilon - math.log1p(curvature / ridge)))",
        "return Perturbation(ridge, change / epsilon)",
        "the curvature of the objective costs nothing",
        "test_objective_perturbation.py::test_the_constants_of_the_published_setting",
    ),
    (
        "tukey.py",
        "round_down((exact(self.epsilon) - exact(self._count_epsilon)) / 2)",
        "round_down(exact(self.epsilon) - exact(self._count_epsilon))",
        "the test and the draw cost the whole ε each",
        "test_tukey.py::test_the_shares_of_epsilon",
    ),
)

SELECTORS = within(
    "selectors",
    (
        "sis.py",
        'SENSITIVITIES = {"add-remove": 1.0, "replace-one": 2.0}',
        'SENSITIVITIES = {"add-remove": 1.0, "replace-one": 1.0}',
        "a row that is replaced moves correlations as one that is added",
        "test_exact_scores.py::test_the_relation_decides_the_sensitivity",
    ),
    (
        "sis.py",
        "CENTRED_SENSITIVITY = 4.0",
        "CENTRED_SENSITIVITY = 2.0",
        "means that a row moves cost nothing",
        "test_grouped_methods.py::test_sis_with_an_intercept_is_centred",
    ),
    (
        "kendall.py",
        'SENSITIVITIES = {"add-remove": 1.5, "replace-one": 2.0}',
        'SENSITIVITIES = {"add-remove": 1.0, "replace-one": 2.0}',
        "the number of pairs that a further row changes costs nothing",
        "test_kendall.py::test_audit",
    ),
)

CLI = within(
    "cli",
    (
        "releasing.py",
        '"private": total.private,',
        '"private": True,',
        "a seeded command says that it is private",
        "test_release_command.py::test_a_seed_is_reproducible_and_not_private",
    ),
    (
        "releasing.py",
        "drawn = law.release(ledger, rng=self.source)",
        "drawn = law.release(None, rng=self.source)",
        "a command does not charge its ledger",
        "test_method_options.py::test_every_method_is_charged_at_its_full_price",
    ),
    (
        "report.py",
        'if report.get("sensitive") is True:',
        'if report.get("sensitive") is None:',
        "a sensitive file becomes a report",
        "test_report_command.py::test_what_is_sensitive_is_never_in_a_report",
    ),
)

MUTATIONS = (
    *SEARCH,
    *BACKENDS,
    *RESTRICTED,
    *MECHANISMS,
    *PRIVACY,
    *TABLES,
    *REGRESSION,
    *SELECTORS,
    *CLI,
)
