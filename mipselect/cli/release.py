"""`mipselect release`: private supports of an instance."""

from __future__ import annotations

from mipselect.cli.declared import command, group, options
from mipselect.cli.inputs import asked_of
from mipselect.cli.method_options import SupportDrawOptions
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_output
from mipselect.cli.releasing import block_draw, plan_draws
from mipselect.cli.table_options import ScoreOptions, SourceOptions, score_in_place_of_the_file
from mipselect.cli.task import Task, deliver_task

EXAMPLES = """Examples:

mipselect release diabetes --epsilon 1

mipselect release paper-p100 --epsilon 1 --sizes 1-8

mipselect release paper-p100 --epsilon 1 --draws 50 --budget 50 --json

mipselect release paper-p100 --method top-r --epsilon 1 --solver highs

mipselect release paper-p100 --method mistakes --epsilon 1 \\
    --test-epsilon 0.5 --delta 1e-6

mipselect release diabetes --method sis --epsilon 1 --top-k peeling

mipselect release diabetes --method kendall --epsilon 1 --relation add-remove

mipselect release diabetes --method sample-aggregate --epsilon 1 --blocks 20

mipselect release diabetes --method mcmc --epsilon 1 --delta 1e-6 --dry-run

mipselect release diabetes --epsilon 1 --score block-r2

mipselect release visits.npz --support-size 4 --epsilon 1 --always age,sex
"""


@options
class ReleaseArguments:
    """Arguments of `release`."""

    drawing: SupportDrawOptions = group(SupportDrawOptions)
    scores: ScoreOptions = score_in_place_of_the_file()
    source: SourceOptions = group(SourceOptions)
    delivery: Delivery = group(Delivery)


@command
def release(arguments: ReleaseArguments) -> None:
    """Release supports of INSTANCE with differential privacy.

    Only the releases and their guarantee are printed.

    Running time, and whether a run ends, depend on the data and are not covered.
    """
    drawing, delivery = arguments.drawing, arguments.delivery
    instance = arguments.source.instance
    plan = plan_draws(drawing)
    given = asked_of(
        arguments.source, drawing.of_the_method.sizes, block_draw(plan, arguments.scores)
    )
    check_output(delivery.output, [*given.files, *drawing.ledger.files], replace=delivery.replace)
    head = {"command": "release", "instance": instance}
    task = Task(title=instance, head=head, source=given, plan=plan)
    deliver_task(task, delivery, dry_run=drawing.dry_run)
