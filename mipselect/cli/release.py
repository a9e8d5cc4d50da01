"""`mipselect release`: private supports of an instance."""

from __future__ import annotations

from mipselect.cli.declared import command, group, options
from mipselect.cli.options import SupportDrawOptions
from mipselect.cli.output import Delivery
from mipselect.cli.table_options import SourceOptions

EXAMPLES = """Examples:

mipselect release diabetes --epsilon 1

mipselect release paper-p100 --epsilon 1 --sizes 1-8

mipselect release paper-p100 --method top-r --epsilon 1 --solver highs

mipselect release paper-p100 --method mistakes --epsilon 1 \\
    --test-epsilon 0.5 --delta 1e-6

mipselect release diabetes --method sis --epsilon 1 --top-k peeling

mipselect release diabetes --method kendall --epsilon 1 --relation add-remove

mipselect release diabetes --method sample-aggregate --epsilon 1 --blocks 20

mipselect release diabetes --method mcmc --epsilon 1 --delta 1e-6 --dry-run

mipselect release visits.npz --support-size 4 --epsilon 1 --always age,sex
"""


@options
class ReleaseArguments:
    """Arguments of `release`."""

    drawing: SupportDrawOptions = group(SupportDrawOptions)
    source: SourceOptions = group(SourceOptions)
    delivery: Delivery = group(Delivery)


@command
def release(arguments: ReleaseArguments) -> None:
    """Release supports of INSTANCE with differential privacy.

    Only the releases and their guarantee are printed.

    Running time, and whether a run ends, depend on the data and are not covered.
    """
    from mipselect.cli.inputs import asked_of
    from mipselect.cli.releasing import plan_draws
    from mipselect.selectors.exact_draws import asked_sizes

    drawing, instance = arguments.drawing, arguments.source.instance
    plan = plan_draws(drawing, instance, {"command": "release", "instance": instance})
    given = asked_of(arguments.source, asked_sizes(plan.method))
    plan.deliver(given, arguments.delivery, dry_run=drawing.dry_run)
