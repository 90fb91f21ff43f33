"""The built wheel carries the pages and the styles, and nothing that is only for development."""

import subprocess
import sys
import zipfile

import pytest

from tests.platform.running import ROOT


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return set(wheel.namelist())


@pytest.mark.parametrize(("folder", "inside"), [("templates", "_templates"), ("static", "_static")])
def test_templates_and_static_files_are_all_there(names, folder, inside):
    files = {path for path in (ROOT / folder).rglob("*") if path.is_file()}
    assert files
    assert {f"relay_web/{inside}/{path.relative_to(ROOT / folder)}" for path in files} <= names


def test_only_the_package_and_its_metadata_are_in_it(names):
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"relay_web"}
