"""The shape of the code: who imports whom, how long things are, what the docs must match."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from relay_web.domain.delivery import TERMINAL
from relay_web.domain.transitions import TRANSITIONS

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "relay_web").rglob("*.py"))
LONGEST_MODULE = 250
LONGEST_FUNCTION = 40


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            yield node


def length(function: ast.FunctionDef) -> int:
    """Lines from `def` to the end, the docstring not counted."""
    told = ast.get_docstring(function, clean=False)
    return (function.end_lineno or 0) - function.lineno + 1 - len((told or "").splitlines())


def test_imports_point_in_one_direction():
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_fits_on_a_few_screens(path):
    assert len(path.read_text().splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_function_fits_on_one_screen(path):
    lengths = {function.name: length(function) for function in functions(path)}
    assert not {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_entry_points_can_patch_before_anything_is_imported():
    loaded = "import relay_web, relay_web.__main__, sys; print(*sys.modules)"
    names = subprocess.run(
        [sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"ssl", "socket", "threading", "pymongo", "requests", "flask"} & set(names)


def state_chart() -> str:
    """TRANSITIONS as the Mermaid chart of docs/architecture.md."""
    arrows = [
        f"    {row.source or '[*]'} --> {row.target}: {row.name}{' +1' * row.bumps}"
        for row in TRANSITIONS.values()
    ]
    ends = [f"    {state} --> [*]" for state in sorted(TERMINAL)]
    return "\n".join(["stateDiagram-v2", *arrows, *ends])


def test_the_state_chart_shows_the_transitions_of_the_code():
    page = (ROOT / "docs" / "architecture.md").read_text()
    drawn = re.search(r"```mermaid\n(stateDiagram.*?)\n```", page, re.DOTALL)
    assert drawn
    assert drawn[1] == state_chart()


def test_every_direct_dependency_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    names = {re.match(r"[A-Za-z0-9._-]+", line)[0] for line in wanted}
    page = (ROOT / "docs" / "dependencies.md").read_text()
    explained = set(re.findall(r"^\| `([^`]+)` \| \S", page, re.MULTILINE))
    assert explained == names
