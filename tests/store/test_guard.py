"""Two locks on the state of record: who may write it, and with which filter."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import relay_web
from tests.guard import BY_HAND, fault

PACKAGE = Path(relay_web.__file__).parent
WRITES = frozenset(
    {
        "insert_one", "insert_many", "update_one", "update_many", "replace_one", "bulk_write",
        "delete_one", "delete_many", "find_one_and_update", "find_one_and_replace",
        "find_one_and_delete", "drop",
    }
)  # fmt: skip


def writers(source: str) -> Iterator[str]:
    """Names of write methods called on the deliveries collection in this source text.

    A collection is known by its handle: `db.deliveries`, `db["deliveries"]`, or the attribute a
    class bound one of those to.
    """
    tree = ast.parse(source)
    bound = {
        target.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_handle(node.value)
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        on = node.func.value
        known = _is_handle(on) or (isinstance(on, ast.Attribute) and on.attr in bound)
        if known and node.func.attr in WRITES:
            yield node.func.attr


def _is_handle(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return (
            node.attr == "deliveries"
            and isinstance(node.value, ast.Name | ast.Attribute)
            and (
                getattr(node.value, "id", "") == "db"
                or getattr(node.value, "attr", "") in ("db", "_db")
            )
        )
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and node.slice.value == "deliveries"
    )


def test_one_module_alone_writes_deliveries() -> None:
    found = {
        str(path.relative_to(PACKAGE)): sorted(set(writers(path.read_text())))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    assert {name for name, calls in found.items() if calls} == {"store/deliveries.py"}


@pytest.mark.parametrize(
    "source",
    [
        "db.deliveries.update_one({}, {})",
        "self._db['deliveries'].delete_many({})",
        "class A:\n def __init__(self, db):\n  self.d = db.deliveries\n  self.d.insert_one({})",
    ],
)
def test_the_lock_sees_a_write_however_the_collection_is_reached(source: str) -> None:
    assert list(writers(source))


@pytest.mark.parametrize(
    "query",
    [
        {"_id": "d"},
        {"_id": "d", "state": "leased"},
        {"_id": "d", "state": "leased", "lease_token": 1},
        {"_id": "d", "state": {"$in": ["pending"]}, "$expr": {"$lte": ["$due_at", "$now"]}},
        {"_id": "d", "team": "t"},
    ],
)
def test_an_update_without_its_whole_guard_is_a_fault(query: dict[str, object]) -> None:
    command = {"update": "deliveries", "updates": [{"q": query, "u": {}}]}
    assert fault(command)
    assert fault(command | {"comment": BY_HAND}) is None


@pytest.mark.parametrize("name", ["findAndModify", "delete"])
def test_no_transition_finds_and_modifies_or_deletes(name: str) -> None:
    assert fault({name: "deliveries", "query": {}})
