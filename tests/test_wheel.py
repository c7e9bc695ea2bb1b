"""What is given to others: a wheel with what the package needs and nothing else, which works where it is unpacked."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import localax

TOP = Path(__file__).parents[1]


def python(*words: str, folder: Path, code: int = 0, **environment: str) -> str:
    """What a program says that knows this environment's packages, started in a folder."""
    command = [sys.executable, *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(TOP), folder=out)
    (found,) = out.glob("*.whl")
    return found


def test_a_wheel_has_the_package_what_it_brings_along_and_nothing_else(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {path for path in (TOP / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    wanted = {path.relative_to(TOP / "src").as_posix() for path in files}
    wanted |= {f"localax/_benchmarks/{path.name}" for path in (TOP / "benchmarks").glob("*.py")}
    wanted.add("localax/_paper_preset.json")  # the verdicts that the lab shows before anything has run
    assert inside == wanted
    assert {"localax/py.typed", "localax/report/localax.mplstyle"} <= inside


def test_its_description_is_one_that_an_index_takes(wheel):
    assert "PASSED" in python("-m", "twine", "check", "--strict", str(wheel), folder=wheel.parent, TERM="dumb")


@pytest.mark.slow
def test_it_works_where_it_is_unpacked(wheel, tmp_path):
    site = str(tmp_path / "site")
    zipfile.ZipFile(wheel).extractall(site)
    assert python("-m", "localax", "--version", folder=tmp_path, PYTHONPATH=site) == f"localax {localax.__version__}\n"
    assert site in python("-c", "import localax.report as r; print(r.__file__)", folder=tmp_path, PYTHONPATH=site)
    known = python("-m", "localax", "bench", "nothing", folder=tmp_path, code=2, PYTHONPATH=site)
    assert "stimuli, sweeps, theory, train" in known
