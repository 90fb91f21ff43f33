"""Each row of `rows.py` is named by a test: in its docstring, its id, or its table of cases."""

import re
from pathlib import Path

import pytest

from tests import rows

_NAMED = re.compile(r"\b([BSG])(\d+)(?:(?: to |–)\1(\d+))?\b")
_HERE = Path(__file__)


def named() -> set[str]:
    """Every row that a test module names; `S1 to S4` and `S1–S4` name four."""
    found = set()
    for path in _HERE.parent.rglob("test_*.py"):
        if path == _HERE:
            continue
        for letter, first, last in _NAMED.findall(path.read_text()):
            found |= {f"{letter}{n}" for n in range(int(first), int(last or first) + 1)}
    return found


@pytest.mark.parametrize(
    ("table", "count"), [(rows.BAD_INPUT, 92), (rows.BYPASSES, 22), (rows.SIGNING, 11)]
)
def test_every_row_has_a_test_that_names_it(table: str, count: int) -> None:
    wanted = rows.numbers(table)
    assert len(set(wanted)) == len(wanted) == count
    assert [row for row in wanted if row not in named()] == []
