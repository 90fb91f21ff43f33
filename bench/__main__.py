"""`make bench`: every figure, one a line: name value unit target ok|short."""

import signal
import sys
import time

import click

from bench import backlog, delivering, fairness, latency, memory, serving
from bench.figures import Group
from bench.run import Run
from bench.system import GaveUp, System

#: What can be asked for with `--only`, in the order it is measured in.
GROUPS: dict[str, Group] = {
    "P1": delivering.one_worker,
    "P2": latency.publish_to_request,
    "P3": backlog.claims,
    "P3b": delivering.many_lanes,
    "P4": fairness.beside_a_hanging_endpoint,
    "P5": serving.publishing,
    "P6": serving.pages,
    "P7": memory.resident,
    "P8": delivering.two_workers,
    "idle": latency.idle,
    "costs": backlog.costs,
    "lanes": backlog.discovery,
}


@click.command()
@click.option("--quick", is_flag=True, help="Fewer and shorter rounds: a look, not a claim.")
@click.option("--only", default="", help=f"Some of {','.join(GROUPS)}. P1 includes P1b.")
def main(quick: bool, only: str) -> None:
    """Measure on a MongoDB, workers and a web process of its own; about eight minutes for all."""
    wanted = [name.strip() for name in only.split(",") if name.strip()] or list(GROUPS)
    if unknown := sorted(set(wanted) - set(GROUPS)):
        raise click.UsageError(f"There is no {', '.join(unknown)}; choose from {', '.join(GROUPS)}")
    # Every `with` block ends what it started, so a polite end is an exception like any other.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    failed = False
    with System.running() as system:
        run = Run(system, quick)
        for name in wanted:
            began = time.monotonic()
            try:
                for figure in GROUPS[name](run):
                    print(figure.line(), flush=True)
            except GaveUp as problem:
                print(f"bench: {name} was not measured: {problem}", file=sys.stderr)
                failed = True
            print(f"bench: {name} took {time.monotonic() - began:.0f} s", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
