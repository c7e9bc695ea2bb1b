"""Stored runs and outcomes that somebody has spoilt, or made up: listed, shown, loaded, drawn, made again, removed."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from localax import runner
from localax._disk import pack, unpack
from localax.outcome import Diagram, Fields, Figure, Heatmap, Histogram, Lines, Outcome, Scatter, Table
from localax.report import as_csv, picture
from localax.store import Store, identity_hash
from localax.trajectory import Trajectory
from localax.trajectory import load as load_trajectory
from localax.web._reports import report

from .driver import AbstractTarget
from .typed import command
from .values import SEEDS, changed, spoilt

SETTINGS = {"steps": 4, "batch": 8, "probe": 8, "stimulus": {"kind": "NLGP", "size": 12, "lengthscale": [0.5, 1]}}


def trajectory() -> Trajectory:
    draw = np.random.default_rng(0).normal
    return Trajectory(np.arange(3.0), draw(size=(1, 3, 1, 12)), loss=draw(size=(1, 3)), status=("done",))


def outcome() -> Outcome:
    """One of every panel, and a claim."""
    x, z = np.linspace(1, 2, 4), np.eye(4)
    panels = (
        Lines("lines", x, {"a": x}, {"b": x}, marks={"m": 1.5}), Fields("fields", z), Heatmap("heat", z),
        Diagram("diagram", x, x, z, {"edge": (x, x)}), Histogram("histogram", np.arange(5.0), x, x),
        Scatter("scatter", {"a": (x, x, None)}), Table("table", ("a", "b"), (("x", 1.0),)),
    )  # fmt: skip
    return Outcome("A title", "Words, and $x^2$.", (Figure("A figure", (panels[:3], panels[3:])),), name="kurtosis")


def filled(root: Path) -> dict[str, str]:
    """A store with a run and an outcome, under the names that today's code gives them; their names."""
    store, train = Store(root), runner.training_unit(runner.training_settings(SETTINGS))
    experiment = runner.experiment_units("kurtosis")[0]
    store.save(train.identity, {"trajectory.npz": trajectory().to_bytes()}, kind="train", title="a", status=("done",))
    store.save(experiment.identity, {"outcome.npz": outcome().to_bytes()}, kind="experiment", title="kurtosis")
    other = {"kind": "train", "steps": 1}
    store.scratch(other, {"steps": 1})
    return {"TRAIN": train.name, "OUTCOME": experiment.name, "OTHER": identity_hash(other)}


# Harm -----------------------------------------------------------------------------------------------------------------


def harm(path: Path, how: str, seed: int) -> None:
    """Do something to a file that is not its owner's business."""
    if how == "bytes":
        path.write_bytes(spoilt(path.read_bytes(), seed))
        return
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "link":
        path.symlink_to("/etc/passwd" if seed % 2 else path.name)


def made_up(folder: Path, change: Any, signed: bool) -> None:
    """Put another record in a folder's ``run.json``; **signed**: its name, sizes and checksums are made to fit."""
    record = change
    if signed and isinstance(record, dict) and isinstance(record.get("identity"), dict):
        with suppress(ValueError):
            record = {**record, "name": identity_hash(record["identity"])}
    text = json.dumps(record, default=str)
    target = folder.with_name(record["name"]) if signed and isinstance(record, dict) and _is_name(record) else folder
    if (folder / "run.json").is_dir() or (folder / "run.json").is_symlink():  # it was harmed before
        return
    (folder / "run.json").write_text(text)
    if target != folder and not target.exists():
        folder.rename(target)


def _is_name(record: Mapping[str, Any]) -> bool:
    name = record.get("name")
    return isinstance(name, str) and len(name) == 16 and name.isalnum()


class Stores(AbstractTarget):
    """A store of which some files are spoilt, and all that can be done with it."""

    name = "stores"

    def inputs(self) -> st.SearchStrategy:
        files = st.sampled_from(("run.json", "npz", "request.json"))
        spoil = st.tuples(files, st.sampled_from(("bytes", "bytes", "bytes", "gone", "folder", "link")), SEEDS)
        record = changed(st.sampled_from(_records()))
        return st.tuples(
            st.lists(spoil, max_size=2), st.none() | st.tuples(record, st.booleans()), st.sampled_from(list(ACTS))
        )

    @contextmanager
    def opened(self, folder: Path) -> Iterator[None]:
        self.folder, self.ready, self.root = folder, folder / "ready", folder / "store"
        self.names = filled(self.ready)
        self.units = runner.experiment_units("kurtosis")
        yield

    def take(self, given: Any) -> None:
        spoils, record, act = given
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.ready, self.root)
        for file, how, seed in spoils:
            found = sorted(path for path in self.root.rglob(f"*{file}") if path.is_file())
            if found:
                harm(found[seed % len(found)], how, seed)
        if record is not None:
            made_up(self.root / self.names["TRAIN"], *record)
        ACTS[act](Store(self.root), self)


def _records() -> list[Any]:
    """What the marks of a store say, as nested data."""
    with tempfile.TemporaryDirectory() as folder:
        filled(Path(folder))
        return [json.loads(mark.read_text()) for mark in sorted(Path(folder).glob("*/run.json"))]


def _command(*words: str) -> Callable[[Store, Stores], None]:
    """A command on the store, as people type it."""

    def act(store: Store, target: Stores) -> None:
        for name in target.names.values() if "NAME" in words else ("",):
            command([name if word == "NAME" else word for word in (*words, "--store", str(store.root))], target.folder)

    return act


def _again(store: Store, target: Stores) -> None:
    """What `localax reproduce` does: load what is whole, and set aside what is not."""
    ready = runner.run_or_load(target.units, store, _Nothing())
    for unit in ready.stored:
        runner.load_outcome(store, unit)


class _Nothing(runner.AbstractExecutor):
    """Does no unit, and says so."""

    def run(self, units, store, watch, *, replace=False):
        del store, watch, replace
        return {unit.name: "not done" for unit in units}


ACTS: dict[str, Callable[[Store, Stores], Any]] = {
    "list": _command("runs", "list", "--json"),
    "show": _command("runs", "show", "NAME"),
    "load": _command("runs", "load", "NAME", "--out", "out.npz"),
    "prune": _command("runs", "prune", "--days", "0"),
    "remove": _command("runs", "rm", "NAME"),
    "doctor": _command("doctor"),
    "report": lambda store, _: report(store, "quick"),
    "again": _again,
}


# Files of Localax that are sealed as they should be, and hold something else -----------------------------------------


class SealedFiles(AbstractTarget):
    """Trajectories and outcomes whose checksum fits, whoever has made it: loaded, drawn, and written as tables."""

    name = "sealed files"

    def inputs(self) -> st.SearchStrategy:
        return st.one_of(*(self._of(kind, data) for kind, data in _sealed().items()))

    def _of(self, kind: str, data: bytes) -> st.SearchStrategy:
        arrays, meta = unpack(data, kind=kind, version=VERSIONS[kind])
        shapes = st.lists(st.integers(0, 4), max_size=4)
        kinds = st.sampled_from(("<f8", "<f4", "<i8", "|b1", "<U3", "|S2", "<c16"))
        other = st.dictionaries(
            st.sampled_from([*arrays, "x", "records.a"]), st.tuples(shapes, kinds, SEEDS), max_size=2
        )
        return st.tuples(st.just(kind), changed(st.just(meta)), other, st.none() | SEEDS)

    def take(self, given: Any) -> None:
        kind, meta, others, seed = given
        version = VERSIONS[kind]
        arrays, _ = unpack(_sealed()[kind], kind=kind, version=version)
        arrays |= {name: _array(*how) for name, how in others.items()}
        data = pack(arrays, meta, kind=kind, version=version)
        USES[kind](data if seed is None else spoilt(data, seed))


def _sealed() -> dict[str, bytes]:
    return {"trajectory": trajectory().to_bytes(), "outcome": outcome().to_bytes()}


def _array(shape: list[int], kind: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 3, shape).astype(kind)


def _use_trajectory(data: bytes) -> None:
    found = load_trajectory(data)
    found.to_xarray()
    found.to_bytes()
    repr(found)


def _use_outcome(data: bytes) -> None:
    found = Outcome.from_bytes(data)
    str(found)
    for figure in found.figures:
        as_csv(figure)
        if len(data) % 16 == 0:  # it takes as long as all else together
            picture(figure, "svg")


VERSIONS = {"trajectory": 1, "outcome": 1}
USES: dict[str, Callable[[bytes], None]] = {"trajectory": _use_trajectory, "outcome": _use_outcome}
