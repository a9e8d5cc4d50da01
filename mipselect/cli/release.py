"""`mipselect release`: private supports of an instance."""

from __future__ import annotations

from mipselect.cli.inputs import asked_of
from mipselect.cli.output import check_output
from mipselect.cli.release_options import ReleaseArguments
from mipselect.cli.releasing import plan_draws
from mipselect.cli.task import Task, deliver_task


def release(arguments: ReleaseArguments) -> None:
    """Run the command."""
    drawing, delivery = arguments.drawing, arguments.delivery
    instance = arguments.source.instance
    plan = plan_draws(drawing)
    given = asked_of(arguments.source, drawing.of_the_method.sizes)
    check_output(delivery.output, [*given.files, *drawing.ledger.files], replace=delivery.replace)
    head = {"command": "release", "instance": instance}
    task = Task(title=instance, head=head, source=given, plan=plan)
    deliver_task(task, delivery, dry_run=drawing.dry_run)
