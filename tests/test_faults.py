"""What goes wrong around a command: it is killed, disks are full or may only be read, others write, versions differ."""

import random
import shutil
from pathlib import Path

import pytest

from localax import cli
from localax.store import Store
from slurm.slurm import NoSlurm
from soak import kills, stores
from soak.crowd import crowd
from soak.share import Share

HUNDREDTH = Share(0.01, [])
OLD = Path(__file__).parent / "data" / "store-0.1.tar.xz"
"""What version 0.1 stored: a training run, the same under a name, an experiment, and the checkpoint of a killed run."""


# Killed at a random moment --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """What each command leaves where nobody disturbs it; it does not depend on where a sweep runs, or on the disk."""
    known = {}

    def of(name):
        kind = name.partition(" on ")[0]
        if kind not in known:
            known[kind] = kills.quiet(kills.ROWS[name], tmp_path_factory.mktemp(kind))
        return known[kind]

    return of


MARKS = {"sweep on slurm": [pytest.mark.slurm]}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, [])) for name in kills.ROWS])
def test_a_command_that_is_killed_goes_on_and_ends_with_the_same_bytes(name, quiet, tmp_path):
    row, draw = kills.ROWS[name], random.Random(name)
    try:
        with kills.around(name):
            kills.struck(row, tmp_path, draw.choice(row.victims), draw, quiet(name))
    except NoSlurm as reason:
        pytest.skip(f"no SLURM: {reason}")


# Disks, clocks, crowds ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["full disk", "read-only folder", "clock set back"])
def test_what_cannot_be_written_is_told_and_nothing_is_lost(name):
    try:
        assert all(stores.CASES[name](HUNDREDTH))
    except stores.NoMount as reason:
        pytest.skip(f"no disk of one's own: {reason}")


def test_a_small_crowd_on_one_store():
    (said,) = crowd(2, 3.0)
    assert "whole" in said


# Version 0.1 ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A store that version 0.1 has written, a day ago."""
    monkeypatch.chdir(tmp_path)
    shutil.unpack_archive(OLD, "store", filter="data")
    kills.grown_old(tmp_path / "store", 86400)
    return Store("store")


@pytest.fixture
def localax(monkeypatch, capsys):
    """Runs a command on the store; gives its exit code and what it said on either stream."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["localax", *words, "--store", "store"])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = capsys.readouterr()
        return end.value.code or 0, said.out, said.err

    return run


TRAINED = ("train", "--steps", "4", "--batch", "8", "--probe", "8", "--size", "8", "--lengthscale", "0.5,1")


def test_a_store_of_version_0_1_is_refused_run_by_run_and_left_as_it_is(old, localax):
    before = {path: path.read_bytes() for path in old.root.rglob("*") if path.is_file()}
    names = [path.name for path in old.root.glob("*/") if len(path.name) == 16]
    assert (len(before), len(names)) == (7, 2)
    code, said, aside = localax("runs")
    assert (code, said) == (0, "")
    assert aside.count("has format 1, written by Localax 0.1.0") == 2
    for name in names:
        for words in (("show", name), ("load", name, "--out", "run.npz")):
            code, said, aside = localax("runs", *words)
            assert (code, said, aside.count("\n")) == (2, "", 1)
            assert f"{name}: has format 1" in aside
    assert localax("runs", "prune", "--days", "0.5") == (0, "", "")
    assert localax("runs", "rm", "--kind", "train") == (0, "", "")
    assert localax(*TRAINED)[0] == 0
    assert len(old.runs()) == 1
    assert before.items() <= {path: path.read_bytes() for path in old.root.rglob("*") if path.is_file()}.items()
    code, said, _ = localax("runs", "rm", names[0])  # but who asks for it gets it
    assert (code, said) == (0, f"removed {names[0]}\n")
    assert not (old.root / names[0]).exists()


def test_a_trajectory_of_version_0_1_is_read(old):
    import localax as lx

    run = lx.load(old.root / "first" / "trajectory.npz")
    assert (run.weights.shape, run.status) == ((1, 3, 1, 8), ("done",))
