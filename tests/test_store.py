"""The store keeps runs whole, whoever writes at the same time and whatever else lies in its folder."""

import hashlib
import json
import math
import os
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localax._disk import refuse_unwritable, untouched
from localax._errors import SettingError
from localax.store import Store, _run, _store, identity_hash
from localax.trajectory import Trajectory

IDENTITY = {"rate": 0.1}


def example(value: float = 0.0) -> dict[str, bytes]:
    """The files of a small run."""
    return {"trajectory.npz": Trajectory(np.arange(3.0), np.full((1, 3, 2, 4), value)).to_bytes()}


def value(store: Store, name: str) -> float:
    """The number that a stored example holds everywhere."""
    (number,) = np.unique(store.load(name).weights)
    return float(number)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


# The hash ---------------------------------------------------------------------------------------------------

SETTINGS = {"network": {"units": 10, "bias": None}, "rate": 0.1, "seeds": [1, 2], "x64": False, "name": "å"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json_tables = st.dictionaries(st.text(), json_values, max_size=4)


def test_hash_is_a_known_number() -> None:
    text = '{"name":"\\u00e5","network":{"bias":null,"units":10},"rate":0.1,"seeds":[1,2],"x64":false}'
    assert identity_hash(SETTINGS) == hashlib.sha256(text.encode()).hexdigest()[:16] == "099e2d131997a4dc"


@pytest.mark.slow
@given(json_tables)
def test_hash_by_the_standard_library(settings: dict) -> None:
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    assert identity_hash(settings) == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert identity_hash(json.loads(json.dumps(settings))) == identity_hash(settings)


@given(json_tables, st.randoms())
def test_hash_does_not_depend_on_order(settings: dict, random) -> None:
    items = [*settings.items()]
    random.shuffle(items)
    assert identity_hash(OrderedDict(items)) == identity_hash(settings)


def test_numpy_counts_as_python_and_types_count() -> None:
    assert identity_hash({"a": np.float64(0.1), "b": np.int32(3), "c": np.bool_(True)}) == identity_hash(
        {"a": 0.1, "b": 3, "c": True}
    )
    assert identity_hash({"a": (1, 2), "b": np.array(0.5), "c": np.str_("x")}) == identity_hash(
        {"a": np.array([1, 2]), "b": 0.5, "c": "x"}
    )
    assert len({identity_hash({"a": value}) for value in (1, 1.0, True, "1", [1], np.float32(0.1), 0.1)}) == 7


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "settings.a must be finite, got nan"),
        (np.float32("inf"), "settings.a must be finite, got inf"),
        (np.array([1, np.nan]), r"settings.a\[1\] must be finite"),
        (1j, "got complex"),
        (b"x", "got bytes"),
        ({1}, "got set"),
        ({1: 2}, "keys of text, got 1"),
        (np.longdouble(1), "got longdouble"),
        (np.array([None]), "got ndarray"),
    ],
)
def test_what_json_cannot_say_is_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        identity_hash({"a": value})


# Round trips ------------------------------------------------------------------------------------------------


def test_save_list_load_remove(store: Store) -> None:
    assert store.runs() == []
    files = {**example(1.5), "fields.png": b"\x89PNG", "log.txt": b""}
    folder = store.save(IDENTITY, files, kind="flow", title="a flow", status=("done",))
    assert folder == store.folder(IDENTITY) == store.root / identity_hash(IDENTITY)
    (run,) = store.runs()
    assert (run.name, run.kind, run.title, run.identity) == (folder.name, "flow", "a flow", IDENTITY)
    assert {path.name for path in folder.iterdir()} == {"run.json", *run.files.values()}
    assert run.size == sum(path.stat().st_size for path in folder.iterdir() if path.name != "run.json")
    assert run.status == ("done",)
    assert run.libraries["numpy"] == np.__version__
    for ref in (run.name, run.name[:5]):
        assert value(store, ref) == 1.5
        assert store.read(ref, "fields.png") == b"\x89PNG"
    with pytest.raises(SettingError, match=r"has no file 'x\.npz'; it has fields\.png, log\.txt, trajectory\.npz"):
        store.read(run.name, "x.npz")
    store.remove(run.name)
    assert store.runs() == []
    assert [*store.root.iterdir()] == []


def test_default_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOCALAX_HOME", raising=False)
    assert Store().root == tmp_path / "localax-results"
    monkeypatch.setenv("LOCALAX_HOME", str(tmp_path / "home"))
    assert Store().root == tmp_path / "home"
    assert not Store().root.exists()


def test_references_must_mean_one_run(store: Store) -> None:
    names = [store.save({"n": n}, example(n)).name for n in range(40)]  # two of 40 begin alike, of 16 digits
    first = next(name[0] for name in names if sum(other[0] == name[0] for other in names) > 1)
    with pytest.raises(SettingError, match=f"'{first}' is the beginning of .*give more of it"):
        store.find(first)
    absent = next(d for d in ("0123", "4567", "89ab") if not any(name.startswith(d) for name in names))
    with pytest.raises(SettingError, match=f"no run called '{absent}'"):
        store.find(absent)


# Replacing --------------------------------------------------------------------------------------------------


def test_a_finished_run_stays_unless_it_is_to_be_replaced(store: Store) -> None:
    name = store.save(IDENTITY, example(1)).name
    store.save(IDENTITY, example(2))
    assert value(store, name) == 1
    store.save(IDENTITY, {**example(3), "more.txt": b"x"}, replace=True)
    assert value(store, name) == 3
    run = store.find(name)
    assert {path.name for path in (store.root / name).iterdir()} == {"run.json", *run.files.values()}


def test_what_a_run_keeps_on_its_way_is_cleared_when_it_is_saved(store: Store) -> None:
    scratch = store.scratch(IDENTITY, {"steps": 3})
    (scratch / "checkpoint").mkdir()
    assert not store.finished(IDENTITY)
    (unfinished,) = store.scan().unfinished
    assert (unfinished.name, unfinished.request) == (identity_hash(IDENTITY), {"steps": 3})
    store.save(IDENTITY, example())
    assert store.finished(IDENTITY)
    assert not scratch.exists()
    store.scratch(IDENTITY, {"steps": 3})  # as when it is run afresh: the old result stays meanwhile
    assert store.finished(IDENTITY)


# Damage -----------------------------------------------------------------------------------------------------


def damage(store: Store, name: str, how: str) -> None:
    folder = store.root / name
    mark = folder / "run.json"
    values = json.loads(mark.read_text())
    file = folder / values["files"]["trajectory.npz"]
    match how:
        case "no mark":
            mark.unlink()
        case "cut mark":
            mark.write_bytes(mark.read_bytes()[:50])
        case "cut file":
            os.truncate(file, 100)
        case "no file":
            file.unlink()
        case "linked file":
            file.rename(store.root / "elsewhere.npz")
            file.symlink_to(store.root / "elsewhere.npz")
        case "as another":
            folder.rename(store.root / "0123456789abcdef")
        case "linked":
            folder.rename(store.root.parent / "outside")
            folder.symlink_to(store.root.parent / "outside")
        case _:
            mark.write_text(json.dumps(values | json.loads(how)))


HOWS = ("no mark", "cut mark", "cut file", "no file", "linked file", "as another", "linked")
CHANGES = ({"identity": 3}, {"identity": {"a": 1}}, {"format": 1}, {"size": 1}, {"status": None}, {"more": 1},
           {"files": {"x": "../x"}}, {"files": {"x": 3}}, {"files": []}, {"created": 3}, {"name": "f" * 16},
           {"kind": None}, {"identity": {"a": float("nan")}})  # fmt: skip


@pytest.mark.parametrize("how", [*HOWS, *map(json.dumps, CHANGES)])
def test_listing_passes_over_what_is_damaged(store: Store, how: str) -> None:
    whole = store.save({"n": 1}, example(1)).name
    damage(store, store.save({"n": 2}, example(2)).name, how)
    (store.root / "notes.txt").write_text("x")
    listing = store.scan()
    assert [run.name for run in listing.runs] == [whole]
    assert len(listing.unfinished) == 1
    assert "notes.txt" in listing.foreign
    assert all(other.reason and "\n" not in other.reason for other in listing.unfinished)
    assert not store.finished({"n": 2})


def test_a_run_of_an_older_format_is_refused_in_one_line(store: Store) -> None:
    name = store.save(IDENTITY, example()).name
    damage(store, name, '{"format": 1}')
    with pytest.raises(SettingError, match=r"has format 1, written by Localax .*; this one reads 2: run it again"):
        store.load(name)


def test_an_altered_trajectory_is_refused_by_name(store: Store) -> None:
    name = store.save(IDENTITY, example()).name
    path = store.root / name / store.find(name).files["trajectory.npz"]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(SettingError, match=rf"{name}/trajectory\.npz: altered since"):
        store.load(name)


# Escapes ----------------------------------------------------------------------------------------------------

ESCAPES = ["", ".", "..", "../x", "a/b", "/etc", "a\\b", "a\0b", ".hidden", "a..b", "a\n", "x" * 101, "a.", "-rf", "~"]


@pytest.mark.parametrize("name", ESCAPES)
def test_no_name_leads_out_of_the_root(store: Store, name: str) -> None:
    calls = (
        lambda: store.save({}, {name: b"x"}),
        lambda: store.load(name),
        lambda: store.find(name),
        lambda: store.remove(name),
    )
    for call in calls:
        with pytest.raises(SettingError, match=r"must be (named|called)|no run called"):
            call()
    with pytest.raises(SettingError, match="inside"):
        store.discard(store.root.parent / "x" / "y" / "z")
    assert not store.root.exists()


def test_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    outside = Store(tmp_path / "outside")
    name = outside.save(IDENTITY, example()).name
    store.root.mkdir()
    (store.root / name).symlink_to(outside.root / name)
    for call in (lambda: store.load(name), lambda: store.remove(name), lambda: store.save(IDENTITY, example(1))):
        with pytest.raises(SettingError, match="is a link"):
            call()
    assert outside.finished(IDENTITY)


def test_the_name_of_the_mark_is_reserved(store: Store) -> None:
    with pytest.raises(SettingError, match=r"not run\.json"):
        store.save({}, {"run.json": b""})


# Forgetting -------------------------------------------------------------------------------------------------


def test_leftovers_are_found_once_they_are_old(store: Store) -> None:
    name = store.save(IDENTITY, example()).name
    orphan = store.root / name / "trajectory-00000000.npz"
    orphan.write_bytes(b"half")
    lost = store.folder({"n": 2})
    lost.mkdir()
    store.scratch({"n": 3}, {})  # may be taken up again
    (store.root / ".notes.tmp").write_text("somebody's own")
    assert store.leftovers() == []
    assert set(store.leftovers(seconds=-1)) == {orphan, lost}
    for path in store.leftovers(seconds=-1):
        store.discard(path)
    assert store.leftovers(seconds=-1) == []
    assert value(store, name) == 0


LEFT = {
    "a writer of the index": ".0123456789abcdef.tmp",
    "a writer of a file": "NAME/.0123456789abcdef.tmp",
    "one that had marked its result": "NAME/scratch/checkpoint/state.npz",
    "one that drew a result replaced since": "NAME/evolution-01234567.png",
    "one that removed a result": "0123456789abcdef.01234567.removed/run.json",
}


@pytest.mark.parametrize("who", LEFT)
def test_what_a_killed_process_leaves_is_swept(store: Store, who: str) -> None:
    """Each file is what is there after a kill between two lines of the store."""
    name = store.save(IDENTITY, example()).name
    before = sorted(store.root.rglob("*"))
    own = store.root / name / f"evolution-{Path(store.find(name).files['trajectory.npz']).stem[-8:]}.png"
    notes = store.root / name / "notes-of-mine.txt"
    for path in (own, notes, store.root / LEFT[who].replace("NAME", name)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    assert store.leftovers() == []
    for path in store.leftovers(seconds=-1):
        store.discard(path)
    assert sorted(store.root.rglob("*")) == sorted([*before, own, notes])


def test_a_result_that_another_version_marked_is_no_leftover(store: Store) -> None:
    name = store.save(IDENTITY, example()).name
    damage(store, name, '{"format": 1}')
    assert store.leftovers(seconds=-1) == []


def test_old_runs_are_found_by_age(store: Store) -> None:
    name = store.save(IDENTITY, example()).name
    assert store.older(1) == []
    damage(store, name, '{"created": "2020-01-01T00:00:00.000+00:00"}')
    assert [run.name for run in store.older(1)] == [name]
    for days in (-1, math.inf, math.nan):
        with pytest.raises(SettingError, match="days must be from 0 to 100,000"):
            store.older(days)


# Many writers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_a_write_that_fails_leaves_the_old_run(store: Store, monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    """The disk fails at each rename in turn: that of the file and that of the mark."""
    replace, left = os.replace, [allowed]
    name = store.save(IDENTITY, example(1)).name

    def fails_once(*names: Path) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise OSError(5, "disk on fire")
        replace(*names)

    monkeypatch.setattr(os, "replace", fails_once)
    if allowed < 2:
        with pytest.raises(OSError, match="fire"):
            store.save(IDENTITY, example(2), replace=True)
    else:
        store.save(IDENTITY, example(2), replace=True)
    assert value(store, name) == (1 if allowed < 2 else 2)
    assert len([*(store.root / name).iterdir()]) == 2


WRITER = """
import sys, numpy as np
from localax.trajectory import Trajectory
from localax.store import Store
root, value = sys.argv[1], float(sys.argv[2])
store = Store(root)
print(flush=True)
sys.stdin.readline()
for n in range(40):
    it = Trajectory(np.arange(3.0), np.full((1, 3, 2, 400), value))
    files = {"trajectory.npz": it.to_bytes(), "value": str(value).encode()}
    store.save({"n": n // 4}, files, replace=bool(n % 2))
"""


@pytest.mark.slow
def test_concurrent_writers_and_a_reader_all_end_well(store: Store) -> None:
    command = [sys.executable, "-c", WRITER, str(store.root)]
    pipe = subprocess.PIPE
    writers = [subprocess.Popen([*command, value], stdin=pipe, stdout=pipe, stderr=pipe) for value in "123"]
    for writer in writers:
        assert writer.stdout
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    while any(writer.poll() is None for writer in writers):
        for run in store.runs():  # while they are being replaced, every one is whole
            assert value(store, run.name) in (1, 2, 3)
    for writer in writers:
        assert (writer.communicate(timeout=60)[1], writer.returncode) == (b"", 0)
    listing = store.scan()
    assert (len(listing.runs), listing.unfinished) == (10, ())
    for run in listing.runs:
        assert value(store, run.name) == float(store.read(run.name, "value"))


def test_a_result_replaced_while_one_looks_is_read_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer comes between the reading of the mark and the look at the files that it lists."""
    name, parsed, calls = store.save({"n": 0}, example(7)).name, _run._parsed, []

    def slowly(mark: bytes) -> Any:
        calls.append(mark)
        if len(calls) == 1:
            store.save({"n": 0}, example(8), replace=True)
        return parsed(mark)

    monkeypatch.setattr(_run, "_parsed", slowly)
    assert store.find(name).name == name
    assert calls[-1] != calls[0]
    assert value(store, name) == 8


@pytest.mark.parametrize("moment", ["trajectory", "run.json"])
def test_a_result_removed_while_it_is_written_is_written_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Somebody removes the folder before a file takes its name."""
    store.save(IDENTITY, example(1))
    replace, left = os.replace, [1]

    def disturbed(old: Path, new: Path) -> None:
        if Path(new).name.startswith(moment) and left and left.pop():
            store.remove(identity_hash(IDENTITY))
        replace(old, new)

    monkeypatch.setattr(os, "replace", disturbed)
    name = store.save(IDENTITY, example(2), replace=True).name
    assert value(store, name) == 2
    assert [path.name for path in store.root.iterdir()] == [name]


def test_what_another_process_takes_away_meanwhile_is_no_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    name = store.save(IDENTITY, example()).name
    (store.root / name / ".0.tmp").write_bytes(b"x")
    monkeypatch.setattr(Store, "marked", lambda *_: True)
    assert store.set_aside("0" * 16) is None
    monkeypatch.setattr(_store, "untouched", lambda path, _: (path.unlink(), untouched(path, -1))[1])
    assert store.leftovers(seconds=-1) == []


def test_two_may_ask_at_once_whether_a_folder_can_be_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink, asked = Path.unlink, []

    def meanwhile(path: Path, **how: bool) -> None:
        if not asked:
            asked.append(path)
            refuse_unwritable(store.root)
        unlink(path, **how)

    monkeypatch.setattr(Path, "unlink", meanwhile)
    refuse_unwritable(store.root)
    assert not store.root.exists()  # it looks where it would be made
    store.root.mkdir()
    refuse_unwritable(store.root)
    assert [*store.root.iterdir()] == []


def test_a_killed_writer_leaves_the_old_run(store: Store) -> None:
    name = store.save({"n": 0}, example(7)).name
    script = "import os; os.replace = lambda *_: os.kill(os.getpid(), 9)\n" + WRITER.replace("bool(n % 2)", "True")
    killed = subprocess.run(
        [sys.executable, "-c", script, str(store.root), "2"], input=b"\n", capture_output=True, check=False
    )
    assert killed.returncode == -9
    assert [run.name for run in store.scan().runs] == [name]
    assert value(store, name) == 7
    assert len(store.leftovers(seconds=-1)) == 1


def test_no_jax_is_loaded() -> None:
    script = "import sys, localax.store, localax.trajectory; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
