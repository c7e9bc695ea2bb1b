"""A trajectory keeps its shapes, comes back from disk bit for bit, and refuses what is damaged."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localax import _disk
from localax._disk import pack, unpack, write_atomically
from localax.trajectory import Trajectory, load


def example(lead=(2,), times=3, units=2, pixels=(4,), dtype=np.float32, seed=0, **more: Any) -> Trajectory:
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"settings": {"rate": 0.1, "seeds": [3, 5]}} | more

    def draw(*rest: int) -> np.ndarray:
        return rng.normal(size=(*lead, times, *rest)).astype(dtype)

    return Trajectory(
        time=np.arange(times) / 2,
        weights=draw(units, *pixels),
        biases=draw(units),
        readout=draw(units, 3),
        loss=draw(),
        records={"ipr": draw(units), "gate flips": draw(5), "steady": draw() > 0},
        pixel_ndim=len(pixels),
        **options,
    )


def arrays_of(trajectory: Trajectory) -> dict[str, np.ndarray | None]:
    names = ("time", "weights", "biases", "readout", "loss")
    return {name: getattr(trajectory, name) for name in names} | trajectory.records


def assert_same(a: Trajectory, b: Trajectory) -> None:
    assert (a.settings, a.status, a.pixel_ndim) == (b.settings, b.status, b.pixel_ndim)
    assert arrays_of(a).keys() == arrays_of(b).keys()
    for name, array in arrays_of(a).items():
        other = arrays_of(b)[name]
        if array is None or other is None:
            assert array is other
        else:
            assert (array.dtype, array.shape, array.tobytes()) == (
                other.dtype,
                other.shape,
                other.tobytes(),
            ), name


# Shapes and readings ----------------------------------------------------------------------------------------


def test_moments() -> None:
    it = example(lead=(2,), times=5, units=3, pixels=(4, 6))
    assert (it.n_swept, it.n_seeds, it.n_units, it.pixels) == (None, 2, 3, (4, 6))
    np.testing.assert_array_equal(it.final, it.weights[:, -1])
    np.testing.assert_array_equal(it.at(0.8), it.weights[:, 2])
    np.testing.assert_array_equal(it.at(-9), it.weights[:, 0])
    assert it.status == ("done", "done")


def test_moments_with_a_clock_for_each_setting() -> None:
    weights = np.random.default_rng(0).normal(size=(2, 3, 4, 1, 5))
    it = Trajectory(time=np.array([[0, 1, 2, 3], [0, 10, 20, 30.0]]), weights=weights)
    assert (it.n_swept, it.n_seeds) == (2, 3)
    np.testing.assert_array_equal(it.at(3.0), np.stack([weights[0, :, 3], weights[1, :, 0]]))
    np.testing.assert_array_equal(it.final, weights[:, :, -1])


def test_status_runs_through_the_seeds_first() -> None:
    status = ("done", "diverged at step 7", "done", "done", "interrupted at step 12", "done")
    it = example(lead=(2, 3), settings={}, status=status)
    np.testing.assert_array_equal(it.done, [[True, False, True], [True, False, True]])
    assert "4 done, 1 diverged, 1 interrupted" in repr(it)


def test_what_is_frozen_stays() -> None:
    settings = {"sizes": (3, 4), "rate": np.float64(0.5)}
    it = example(settings=settings)
    with pytest.raises(ValueError, match="read-only"):
        it.weights[0] = 0
    settings["rate"] = np.float64(2)
    assert it.settings == {"sizes": [3, 4], "rate": 0.5}


WEIGHTS = np.zeros((2, 3, 1, 4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros((3, 4))}, r"weights must have axes \(\[sweep\], seed, time, unit, pixel\)"),
        ({"weights": np.zeros((2, 0, 1, 4))}, "none empty"),
        ({"weights": np.array([[[["a"]]]])}, "weights must hold real numbers"),
        ({"weights": np.full((2, 3, 1, 4), None)}, "got dtype object"),
        ({"time": np.arange(4.0)}, r"time must have shape \(3,\)"),
        ({"time": np.array([0.0, 1, 1])}, "increase"),
        ({"time": np.array([0.0, 1, np.nan])}, "finite"),
        ({"biases": np.zeros((2, 3, 2))}, r"biases must have shape \(2, 3, 1\)"),
        ({"readout": np.zeros((2, 3, 5, 1))}, "readout must have a shape that begins"),
        ({"loss": np.zeros((3, 2))}, "loss must have shape"),
        ({"records": {"ipr": np.zeros((3, 2, 1))}}, "record 'ipr' must have a shape that begins"),
        ({"records": {"loss": np.zeros((2, 3))}}, "a name of its own"),
        ({"records": {"a/b": np.zeros((2, 3))}}, "letters, digits"),
        ({"records": {"x": np.full((2, 3), None)}}, "got dtype object"),
        ({"settings": {"rate": float("nan")}}, "settings.rate must be finite"),
        ({"settings": {"init": [1, {"f": len}]}}, r"settings.init\[1\].f must be text"),
        ({"status": ("done",)}, "one entry for each of 2 seeds"),
        ({"status": ("done", "fine")}, "got 'fine'"),
        ({"pixel_ndim": 3}, "pixel_ndim must be 1"),
    ],
)
def test_mistakes_give_one_line(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Trajectory(**{"time": np.arange(3.0), "weights": WEIGHTS} | change)
    assert "\n" not in str(caught.value)


# xarray -----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:numpy.ndarray size changed")
def test_labelled_dataset_goes_through_netcdf(tmp_path: Path) -> None:
    import xarray

    data = example(lead=(3, 2), pixels=(4, 6)).to_xarray()
    assert data.weights.dims == ("sweep", "seed", "time", "unit", "row", "column")
    assert data.readout.dims == ("sweep", "seed", "time", "unit", "readout_0")
    assert (data.ipr.dims[3:], data["gate flips"].dims[3:]) == (("unit",), ("gate flips_0",))
    assert data.status.dims == ("sweep", "seed")
    data.to_netcdf(tmp_path / "it.nc", engine="netcdf4")
    with xarray.open_dataset(tmp_path / "it.nc") as back:
        np.testing.assert_array_equal(back.weights, data.weights)
        np.testing.assert_array_equal(back.sel(seed=5, time=0.5).loss, data.loss[:, 1, 1])
        assert json.loads(back.attrs["settings"])["rate"] == 0.1


def test_dataset_without_options_and_with_clocks() -> None:
    it = Trajectory(time=np.array([[0.0, 1], [0, 2]]), weights=np.zeros((2, 3, 2, 1, 5)))
    data = it.to_xarray()
    assert {*data.data_vars} == {"weights", "status"}
    assert data.clock.dims == ("sweep", "time")
    assert data.seed.values.tolist() == [0, 1, 2]


# Disk -------------------------------------------------------------------------------------------------------

side = st.integers(1, 3)


@given(
    lead=st.lists(side, min_size=1, max_size=2).map(tuple),
    pixels=st.lists(side, min_size=1, max_size=2).map(tuple),
    times=side,
    units=side,
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    bare=st.booleans(),
)
def test_round_trip(lead: tuple, pixels: tuple, times: int, units: int, dtype: type, bare: bool) -> None:
    it = example(lead, times, units, pixels, dtype)
    if bare:
        it = Trajectory(time=it.time, weights=it.weights, pixel_ndim=len(pixels))
    assert_same(it, load(it.to_bytes()))


def test_save_and_load(tmp_path: Path) -> None:
    it = example()
    path = it.save(tmp_path / "new" / "it.npz")
    assert_same(it, load(path))
    assert [*path.parent.iterdir()] == [path]
    with np.load(path) as archive:  # an ordinary .npz
        np.testing.assert_array_equal(archive["weights"], it.weights)
        envelope = json.loads(archive["meta"].item())
    assert envelope["meta"]["settings"] == it.settings
    assert {"python", "localax", "numpy", "jax"} <= envelope["libraries"].keys()
    assert it.to_bytes() == it.to_bytes() == path.read_bytes()


def test_nan_and_infinity_are_numbers_in_arrays() -> None:
    loss = np.array([[np.nan, np.inf, -0.0], [1, 2, 3]])
    it = Trajectory(time=np.arange(3.0), weights=WEIGHTS, loss=loss)
    assert_same(it, load(it.to_bytes()))


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    data = example().to_bytes()
    path = tmp_path / "cut.npz"
    for end in {*range(0, len(data), 37), *range(len(data) - 200, len(data))}:
        path.write_bytes(data[:end])
        with pytest.raises(ValueError, match=r"cut\.npz: .*(cut short|checksum)"):
            load(path)


def test_every_flipped_byte_is_refused() -> None:
    data = example().to_bytes()
    for i in {*range(0, len(data), 11), *range(len(data) - 200, len(data))}:
        for bit in (1, 0x20, 0x80):
            with pytest.raises(ValueError, match="data: "):
                load(data[:i] + bytes([data[i] ^ bit]) + data[i + 1 :])


def sealed(data: bytes) -> bytes:
    """A file whose seal fits although its contents are not ours."""
    with zipfile.ZipFile(buffer := io.BytesIO(data), "a") as archive:
        archive.comment = _disk._SEAL + bytes(64)
    raw = buffer.getvalue()
    return raw[:-64] + _disk._digest(memoryview(raw))


def archive_of(**members: bytes) -> bytes:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def npz(**arrays: Any) -> bytes:
    np.savez(buffer := io.BytesIO(), **arrays)
    return buffer.getvalue()


def npz_packed(**arrays: Any) -> bytes:
    """A file that unpacks to more than it is."""
    np.savez_compressed(buffer := io.BytesIO(), **arrays)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a file of Localax"),
        (b"hello", "not a file of Localax"),
        (npz(weights=WEIGHTS), "not a file of Localax"),
        (sealed(npz(weights=WEIGHTS)), "contents cannot be read"),
        (sealed(npz(meta=np.array("[" * 100_000))), "contents cannot be read"),
        (sealed(archive_of(meta=b"{}")), "contents cannot be read"),
        (pack({}, {}, kind="checkpoint"), "must hold a file of kind 'trajectory', got 'checkpoint'"),
        (pack({}, {}, kind="trajectory", version=2), "format 2 of 'trajectory' is not known"),
        (pack({}, {}, kind="trajectory"), "does not hold a trajectory"),
        (pack({"time": np.zeros(1)}, {"status": []}, kind="trajectory"), "does not hold a trajectory"),
        (sealed(npz_packed(meta=np.array("x" * 100_000))), "contents cannot be read"),
        (
            pack({"time": np.arange(3.0), "weights": WEIGHTS}, {"status": [], "settings": [3]}, kind="trajectory"),
            "hold a",
        ),
        (pack({"odd": np.zeros(1)}, {"status": [], "x": 1}, kind="trajectory"), "does not hold a trajectory"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(len(value)),  # a zip file has the time in it
)
def test_foreign_files_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "it.npz").write_bytes(data)
    with pytest.raises(ValueError, match=rf"it\.npz: .*{message}") as caught:
        load(tmp_path / "it.npz")
    assert "\n" not in str(caught.value)


class Bomb:
    """Leaves a trace if anybody unpickles it."""

    def __reduce__(self) -> tuple:
        return (os.mkdir, ("unpickled",))


def test_pickled_arrays_are_neither_written_nor_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="got dtype object"):
        pack({"bomb": np.array([Bomb()])}, {})
    np.savez(buffer := io.BytesIO(), bomb=np.array([Bomb()]), meta=np.array("{}"))
    with pytest.raises(ValueError, match="contents cannot be read"):
        unpack(sealed(buffer.getvalue()))
    assert not Path("unpickled").exists()


ARRAYS = (
    np.zeros(()),
    np.arange(6).reshape(2, 3).T,
    np.array(["å", "b"]),
    np.zeros((0, 2), complex),
    np.array([b"x"]),
    np.arange(4, dtype=">i2")[::2],
)


@given(st.dictionaries(st.text("ab.é _-+1", min_size=1, max_size=5), st.sampled_from(ARRAYS)))
def test_codec_round_trip(arrays: dict[str, np.ndarray]) -> None:
    back, meta = unpack(pack(arrays, {"step": 7}))
    assert meta == {"step": 7}
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array, strict=True)


@pytest.mark.parametrize("name", ["", "meta", "a/b", "..\\x", "a\0b", "x" * 101])
def test_array_names_are_checked(name: str) -> None:
    with pytest.raises(ValueError, match="must be named by"):
        pack({name: np.zeros(1)}, {})


@pytest.mark.parametrize("culprit", ["replace", "fsync"])
def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, culprit: str) -> None:
    path = example().save(tmp_path / "it.npz")

    def fail(*_: object) -> None:
        raise OSError("disk on fire")

    monkeypatch.setattr(os, culprit, fail)
    with pytest.raises(OSError, match="fire"):
        example(seed=1).save(path)
    assert_same(load(path), example())
    assert [*tmp_path.iterdir()] == [path]


ENDLESS = """
import sys
from localax._disk import pack, write_atomically
import numpy as np
n = 0
while True:
    write_atomically(sys.argv[1], pack({"x": np.full(100_000, n)}, {"n": n}))
    n += 1
"""


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "it.npz"
    write_atomically(path, pack({"x": np.zeros(100_000)}, {"n": 0}))
    for delay in (0.0, 0.003, 0.011, 0.02):
        stamp = path.stat().st_mtime_ns
        writer = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)])
        deadline = time.monotonic() + 30
        while path.stat().st_mtime_ns == stamp and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        arrays, meta = unpack(path)
        assert (arrays["x"] == meta["n"]).all()


def test_one_of_several_settings_is_a_trajectory_of_its_own():
    weights = np.arange(2 * 3 * 4 * 1 * 5, dtype=float).reshape(2, 3, 4, 1, 5)
    status = ("done", "diverged at step 3", "done", "done", "done beyond tolerance", "done")
    both = Trajectory(
        np.stack([np.arange(4.0), 2 * np.arange(4.0)]), weights, loss=weights[..., 0, 0],
        records={"mine": weights[..., 0, 1]}, settings={"rate": [1, 2]}, status=status,
    )  # fmt: skip
    for i in (0, 1, -1):
        one = both.select(i)
        np.testing.assert_array_equal(one.weights, weights[i])
        np.testing.assert_array_equal(one.time, both.time[i])
        np.testing.assert_array_equal(one.records["mine"], both.records["mine"][i])
        assert one.n_swept is None
        assert one.status == status[3 * (i % 2) : 3 * (i % 2) + 3]
    assert both.select(1).done.tolist() == [True, True, True]
    with pytest.raises(ValueError, match=r"select: place must be from 0 to 1, got 2"):
        both.select(2)
    with pytest.raises(ValueError, match="one setting only"):
        both.select(0).select(0)


SWEPT = {"gain": np.array([1.0, 1.0, 3.0, 3.0]), "rate": np.array([0.1, 0.2, 0.1, 0.2])}


def swept(coordinates=SWEPT, **more):
    weights = np.arange(4.0).reshape(4, 1, 1, 1, 1) * np.ones((4, 2, 3, 1, 5))
    return Trajectory(np.arange(3.0), weights, swept=coordinates, **more)


def test_swept_settings_are_chosen_by_their_values():
    assert swept().select(gain=3, rate=0.1).final[0, 0, 0] == 2
    assert swept().select(gain=3, rate=0.1).swept == {}
    assert swept().select(gain=3, rate=0.1).settings["selected"] == {"gain": 3.0, "rate": 0.1}
    some = swept().select(rate=0.2)
    assert some.final[:, 0, 0, 0].tolist() == [1, 3]
    assert {name: values.tolist() for name, values in some.swept.items()} == {"gain": [1, 3], "rate": [0.2, 0.2]}
    for choice, line in (
        ({"gain": 2}, "select: gain must be one of 1, 3, got 2"),
        ({"gian": 1}, "no swept setting called 'gian'; did you mean gain"),
        ({}, "say which setting"),
    ):
        with pytest.raises(ValueError, match=line):
            swept().select(**choice)
    odd = swept({"gain": np.array([1.0, 1, 3, 3]), "rate": np.array([0.1, 0.1, 0.2, 0.2])})
    with pytest.raises(ValueError, match=r"no setting has gain=1, rate=0\.2 together"):
        odd.select(gain=1, rate=0.2)


def test_swept_values_go_to_disk_and_to_xarray(tmp_path):
    back = load(swept().save(tmp_path / "it.npz"))
    assert {name: values.tolist() for name, values in back.swept.items()} == {n: v.tolist() for n, v in SWEPT.items()}
    grid = swept().to_xarray()
    assert grid.weights.dims == ("gain", "rate", "seed", "time", "unit", "pixel")
    assert float(grid.weights.sel(gain=3, rate=0.2)[0, 0, 0, 0]) == 3
    tied = swept({"gain": np.arange(4.0), "rate": np.arange(1.0, 5)}).to_xarray()
    assert tied.weights.dims[0] == "sweep"
    assert tied.rate.values.tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="what is swept must have a name of its own and 4 values"):
        swept({"gain": np.arange(3.0)})
