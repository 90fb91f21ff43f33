"""The acceptance list has 64 checks; each has a test that carries its number."""

import re
from pathlib import Path

_NUMBERED = re.compile(r"^def test_(\d\d)_\w+", re.MULTILINE)


def test_every_number_has_a_test() -> None:
    found = {
        int(number)
        for file in Path(__file__).parent.glob("test_*.py")
        for number in _NUMBERED.findall(file.read_text())
    }
    assert found == set(range(1, 65))
