"""Breadth-first over every state that can be reached; the shortest way to a broken invariant."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from tests.model.invariants import Check
from tests.model.machine import START, Rules, World, forgotten, steps


@dataclass(frozen=True)
class Explored:
    """`broken` names the first invariant that fell, with the steps that led there."""

    states: int
    transitions: int
    rows: frozenset[str]
    #: Holder's writes that were tried under a lease that was no longer the delivery's.
    stale: int
    broken: str | None = None
    way: tuple[str, ...] = ()


def explore(rules: Rules, invariants: Mapping[str, Check]) -> Explored:
    """Visit every state once; stop at the first invariant that does not hold."""
    came_from: dict[World, tuple[World, str] | None] = {START: None}
    waiting = deque([START])
    made = stale = 0
    rows = set()
    while waiting:
        world = waiting.popleft()
        for step in steps(world, rules):
            made += 1
            stale += step.fate == "fenced"
            if step.row is not None:
                rows.add(step.row.name)
            for name, holds in invariants.items():
                if not holds(world, step, rules):
                    way = (*_way(came_from, world), step.label)
                    return Explored(len(came_from), made, frozenset(rows), stale, name, way)
            after = forgotten(step.after)
            if after not in came_from:
                came_from[after] = world, step.label
                waiting.append(after)
    return Explored(len(came_from), made, frozenset(rows), stale)


def _way(came_from: Mapping[World, tuple[World, str] | None], world: World) -> tuple[str, ...]:
    labels = []
    while (back := came_from[world]) is not None:
        world, label = back
        labels.append(label)
    return tuple(reversed(labels))
