"""The store keeps runs whole, whoever writes at the same time and whatever else lies in its folder."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localax._trajectory import Trajectory
from localax.store import Store, spec_hash


def example(value: float = 0.0, status: str = "done") -> Trajectory:
    settings = {"rate": 0.1, "value": value}
    return Trajectory(np.arange(3.0), np.full((1, 3, 2, 4), value), settings=settings, status=(status,))


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
    assert spec_hash(SETTINGS) == hashlib.sha256(text.encode()).hexdigest()[:16] == "099e2d131997a4dc"


@given(json_tables)
def test_hash_by_the_standard_library(settings: dict) -> None:
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    assert spec_hash(settings) == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert spec_hash(json.loads(json.dumps(settings))) == spec_hash(settings)


@given(json_tables, st.randoms())
def test_hash_does_not_depend_on_order(settings: dict, random) -> None:
    items = [*settings.items()]
    random.shuffle(items)
    assert spec_hash(OrderedDict(items)) == spec_hash(settings)


def test_numpy_counts_as_python_and_types_count() -> None:
    assert spec_hash({"a": np.float64(0.1), "b": np.int32(3), "c": np.bool_(True)}) == spec_hash(
        {"a": 0.1, "b": 3, "c": True}
    )
    assert spec_hash({"a": (1, 2), "b": np.array(0.5), "c": np.str_("x")}) == spec_hash(
        {"a": np.array([1, 2]), "b": 0.5, "c": "x"}
    )
    assert len({spec_hash({"a": value}) for value in (1, 1.0, True, "1", [1], np.float32(0.1), 0.1)}) == 7


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
        spec_hash({"a": value})


# Round trips ------------------------------------------------------------------------------------------------


def test_save_list_load_remove(store: Store) -> None:
    assert store.list() == []
    it = example(1.5)
    folder = store.save(it.settings, it, {"fields.png": b"\x89PNG", "log.txt": b""}, kind="flow")
    assert folder == store.folder(it.settings) == store.root / spec_hash(it.settings)
    assert {path.name for path in folder.iterdir()} == {"run.json", "trajectory.npz", "fields.png", "log.txt"}
    (run,) = store.list()
    assert (run.name, run.hash, run.kind, run.settings) == (folder.name, folder.name, "flow", it.settings)
    assert run.size == sum(path.stat().st_size for path in folder.iterdir() if path.name != "run.json")
    assert run.status == ("done",)
    assert run.libraries["numpy"] == np.__version__
    for ref in (run.hash, run.hash[:5]):
        np.testing.assert_array_equal(store.load(ref).weights, it.weights)
        assert store.read(ref, "fields.png") == b"\x89PNG"
    store.remove(run.hash)
    assert store.list() == []
    assert [*store.root.iterdir()] == []


def test_a_run_by_name_and_one_without_trajectory(store: Store) -> None:
    it = example(2)
    store.save("my first run", it)
    store.save({"figure": 5}, files={"outcome.json": b"{}"}, kind="outcome")
    assert [(run.kind, run.settings) for run in store.list()] == [
        ("train", it.settings),
        ("outcome", {"figure": 5}),
    ]
    assert store.find("my f") == store.find(spec_hash(it.settings)[:8]) == store.list()[0]
    with pytest.raises(ValueError, match=r"has no file 'trajectory\.npz'; it has outcome\.json"):
        store.load(spec_hash({"figure": 5}))


def test_default_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOCALAX_HOME", raising=False)
    assert Store().root == tmp_path / "localax-results"
    monkeypatch.setenv("LOCALAX_HOME", str(tmp_path / "home"))
    assert Store().root == tmp_path / "home"
    assert not Store().root.exists()


def test_references_must_mean_one_run(store: Store) -> None:
    store.save("run a", example(1))
    store.save("run b", example(2))
    for ref, message in (("run", "is the beginning of run a, run b"), ("zzz", "'zzz' is no run in")):
        with pytest.raises(ValueError, match=message):
            store.find(ref)


# Precedence -------------------------------------------------------------------------------------------------


def test_the_first_finished_run_stays_and_an_interrupted_one_goes(store: Store) -> None:
    settings = {"rate": 1.0}
    store.save(settings, example(0, "interrupted at step 3"))
    assert not store.finished(settings)
    for value in (1.0, 2.0):
        store.save(settings, example(value))
        assert store.finished(settings)
        assert (store.load(spec_hash(settings)).weights == 1).all()
    assert len([*store.root.iterdir()]) == 1


def test_a_folder_without_mark_is_free_for_checkpoints(store: Store) -> None:
    settings = {"rate": 1.0}
    store.folder(settings).mkdir(parents=True)
    (store.folder(settings) / "checkpoint.npz").write_bytes(b"x")
    assert not store.finished(settings)
    store.save(settings, example())
    assert store.finished(settings)
    assert not (store.folder(settings) / "checkpoint.npz").exists()


def test_names_never_replace_anything_else(store: Store) -> None:
    (store.root / "Documents").mkdir(parents=True)
    (store.root / "Documents" / "thesis").write_text("years of work")
    (store.root / "file").write_text("x")
    store.save("mine", example(1))
    store.save("mine", example(1))
    for name, message in (("mine", "another run"), ("Documents", "left alone"), ("file", "in the way")):
        with pytest.raises(ValueError, match=message):
            store.save(name, example(2))
    with pytest.raises(ValueError, match="left alone"):
        store.remove("Documents")
    assert (store.root / "Documents" / "thesis").read_text() == "years of work"
    assert {path.name for path in store.root.iterdir()} == {"Documents", "file", "mine"}
    store.save("stopped", example(3, "interrupted at step 1"))
    store.save("stopped", example(3))
    assert store.finished("stopped")


# Damage -----------------------------------------------------------------------------------------------------


def damage(store: Store, name: str, how: str) -> None:
    folder = store.root / name
    mark = folder / "run.json"
    values = json.loads(mark.read_text())
    match how:
        case "no mark":
            mark.unlink()
        case "cut mark":
            mark.write_bytes(mark.read_bytes()[:50])
        case "cut file":
            os.truncate(folder / "trajectory.npz", 100)
        case "no file":
            (folder / "trajectory.npz").unlink()
        case "linked file":
            (folder / "trajectory.npz").rename(store.root / "elsewhere.npz")
            (folder / "trajectory.npz").symlink_to(store.root / "elsewhere.npz")
        case "renamed":
            folder.rename(store.root / "other name")
        case "as hash":
            folder.rename(store.root / "0123456789abcdef")
        case "linked":
            folder.rename(store.root.parent / "outside")
            folder.symlink_to(store.root.parent / "outside")
        case _:
            mark.write_text(json.dumps(values | json.loads(how)))


HOWS = ("no mark", "cut mark", "cut file", "no file", "linked file", "renamed", "as hash", "linked")
CHANGES = ({"settings": 3}, {"settings": {"a": 1}}, {"format": 9}, {"size": 1}, {"status": None}, {"more": 1},
           {"files": {"../x": ""}}, {"files": []}, {"created": 3}, {"hash": "f" * 16}, {"kind": None},
           {"settings": {"a": float("nan")}})  # fmt: skip


@pytest.mark.parametrize("how", [*HOWS, *map(json.dumps, CHANGES)])
def test_listing_passes_over_what_is_damaged(store: Store, how: str) -> None:
    store.save("whole", example(1))
    folder = store.save(example(2).settings, example(2))
    damage(store, folder.name, how)
    (store.root / ".writing-1").mkdir()
    (store.root / "notes.txt").write_text("x")
    listing = store.scan()
    assert [run.name for run in listing.runs] == ["whole"]
    assert {".writing-1", "notes.txt"} < {skipped.name for skipped in listing.skipped}
    assert all(skipped.reason and "\n" not in skipped.reason for skipped in listing.skipped)
    assert not store.finished(example(2).settings)


def test_altered_files_are_refused_by_name(store: Store) -> None:
    folder = store.save("mine", example(), {"notes": b"abc"})
    (folder / "notes").write_bytes(b"abd")
    shutil.copy(store.save("other", example(3)) / "trajectory.npz", folder / "trajectory.npz")
    for file in ("notes", "trajectory.npz"):
        with pytest.raises(ValueError, match=rf"mine/{file}: altered since|mine: holds \d+ bytes"):
            store.read("mine", file)


# Escapes ----------------------------------------------------------------------------------------------------

ESCAPES = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc",
    "a\\b",
    "a\0b",
    ".hidden",
    "a..b",
    "a\n",
    "x" * 101,
    "a.",
    "-rf",
    "~",
]


@pytest.mark.parametrize("name", ESCAPES)
def test_no_name_leads_out_of_the_root(store: Store, name: str) -> None:
    calls = (
        lambda: store.folder(name),
        lambda: store.save(name, example()),
        lambda: store.save({}, example(), {name: b"x"}),
        lambda: store.load(name),
        lambda: store.remove(name),
        lambda: store.read("0" * 16, name),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"name must be|is no run in"):
            call()
    assert not store.root.exists()


@given(st.text(max_size=8))
def test_any_accepted_name_is_a_child_of_the_root(name: str) -> None:
    store = Store("/nowhere")
    try:
        path = store.folder(name)
    except ValueError:
        return
    assert Path(os.path.normpath(path)).parent == store.root


def test_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    outside = Store(tmp_path / "outside")
    outside.save("mine", example())
    store.root.mkdir()
    (store.root / "mine").symlink_to(outside.root / "mine")
    for call in (store.load, store.remove, lambda name: store.save(name, example(1))):
        with pytest.raises(ValueError, match="is a link"):
            call("mine")
    assert outside.finished("mine")


def test_names_of_the_store_and_hashes_are_reserved(store: Store) -> None:
    for file in ("run.json", "trajectory.npz"):
        with pytest.raises(ValueError, match="store's own name"):
            store.save({}, example(), {file: b""})
    with pytest.raises(ValueError, match="look like a hash"):
        store.save("0123456789abcdef", example())


# Many writers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("allowed", [0, 1, 2, 3, 4])
def test_a_write_that_fails_leaves_the_old_run(store: Store, monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    """The disk fails at each rename in turn: two files, the old folder's, the new folder's."""
    settings, replace, left = {"rate": 1.0}, os.replace, [allowed]
    store.save(settings, example(1, "interrupted at step 1"))

    def fails_once(*names: Path) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise OSError(5, "disk on fire")
        replace(*names)

    monkeypatch.setattr(os, "replace", fails_once)
    if allowed < 4:
        with pytest.raises(OSError, match="fire"):
            store.save(settings, example(2))
    else:
        store.save(settings, example(2))
    assert (store.load(spec_hash(settings)).weights == (1 if allowed < 4 else 2)).all()
    assert len([*store.root.iterdir()]) == 1


WRITER = """
import sys, numpy as np
from localax._trajectory import Trajectory
from localax.store import Store
root, value = sys.argv[1], float(sys.argv[2])
store = Store(root)
print(flush=True)
sys.stdin.readline()
for n in range(40):
    words = ("interrupted at step 1",) if n % 2 else ("done",)
    it = Trajectory(np.arange(3.0), np.full((1, 3, 2, 400), value), settings={"n": n // 4}, status=words)
    for run in ({"n": n // 4, "interrupted": n % 4 < 2}, f"name {n}"):
        try:
            store.save(run, it, {"value": str(value).encode()})
        except ValueError as error:
            assert isinstance(run, str) and "another run" in str(error), error
"""


def test_concurrent_writers_both_end_well(store: Store) -> None:
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
    for writer in writers:
        assert (writer.communicate(timeout=60)[1], writer.returncode) == (b"", 0)
    listing = store.scan()
    assert (len(listing.runs), listing.skipped) == (60, ())
    for run in listing.runs:
        value = float(store.read(run.name, "value"))
        assert (store.load(run.name).weights == value).all()


def test_a_killed_writer_leaves_nothing_half(store: Store) -> None:
    settings = {"rate": 1.0}
    store.save(settings, example(1))
    script = "import os; os.replace = lambda *_: os.kill(os.getpid(), 9)\n" + WRITER
    killed = subprocess.run(
        [sys.executable, "-c", script, str(store.root), "2"], input=b"\n", capture_output=True, check=False
    )
    assert killed.returncode == -9
    listing = store.scan()
    assert [run.hash for run in listing.runs] == [spec_hash(settings)]
    assert [skipped.name.startswith(".writing-") for skipped in listing.skipped] == [True]


def test_no_jax_is_loaded() -> None:
    script = "import sys, localax.store, localax._trajectory; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
