"""A store that version 0.1 has written; kills, full disks and crowds are what ``make soak`` tries."""

import shutil
from pathlib import Path

import pytest

from localax import cli
from localax.store import Store
from soak.kills import grown_old

OLD = Path(__file__).parent / "data" / "store-0.1.tar.xz"
"""What version 0.1 stored: a training run, the same under a name, an experiment, and the checkpoint of a killed run."""


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A store that version 0.1 has written, a day ago."""
    monkeypatch.chdir(tmp_path)
    shutil.unpack_archive(OLD, "store", filter="data")
    grown_old(tmp_path / "store", 86400)
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


@pytest.mark.slow
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
