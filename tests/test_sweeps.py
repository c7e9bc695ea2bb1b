"""Sweeps: every value lands in its place, the plan depends on the file alone, and nothing that is finished is lost."""

import itertools
import json
import resource
import shutil

import numpy as np
import pytest
import xarray

import localax as lx
from localax import cli, runner
from localax._errors import SettingError
from localax.runner import AbstractExecutor, ThisProcess
from localax.runner._sweep import _picture, _plan
from localax.runner._sweep._design import read_design
from localax.runner._sweep._plan import BYTES, NETWORKS, PARTS, plan_sweep
from localax.store import Store
from localax.theory import steady
from soak.kills import SWEEP
from soak.processes import finished, python

RING = {"kind": "NLGP", "size": 24, "lengthscale": [1, 3]}
TRAIN = {"steps": 4, "batch": 8, "save_every": 2, "probe": 8, "record": ["loss"], "seeds": 2, "stimulus": RING}
GAINS = [0.1, 0.3, 1, 3]
RATES = [0.02, 0.05]


def design(sweep, **base):
    return read_design({**TRAIN, **base, "sweep": sweep})


def places(made):
    return [made.point(i) for i in range(made.count)]


# Designs --------------------------------------------------------------------------------------------------------------


def test_lists_are_combined_all_with_all():
    made = design({"stimulus.gain": GAINS, "rate": RATES})
    expected = [{"stimulus.gain": g, "rate": r} for g, r in itertools.product(GAINS, RATES)]
    assert places(made) == expected
    assert made.names == {"stimulus.gain": "gain", "rate": "rate"}
    assert design({"stimulus": {"gain": GAINS}, "rate": RATES}) == made  # as TOML reads a path without quotes


def test_lists_can_be_tied_together():
    made = design({"zip": [["gain", "rate"]], "stimulus.gain": [1, 2, 3], "batch": [8, 16], "rate": [0.1, 0.2, 0.3]})
    tied = zip([1, 2, 3], [0.1, 0.2, 0.3], strict=True)
    expected = [{"stimulus.gain": g, "rate": r, "batch": b} for (g, r), b in itertools.product(tied, [8, 16])]
    assert places(made) == expected


def test_settings_can_be_listed_one_by_one():
    made = design({"list": [{"rate": 0.1, "stimulus": {"gain": 1}}, {"stimulus.gain": 2}]}, rate=0.5)
    assert places(made) == [{"rate": 0.1, "stimulus.gain": 1}, {"rate": 0.5, "stimulus.gain": 2}]


def test_a_sobol_design_fills_its_ranges_evenly():
    ranges = {"stimulus.gain": [0.1, 10], "rate": [0.01, 0.05]}
    made = design({"sobol": {"count": 64, "log": ["gain"], **ranges}})
    points = np.array([[np.log10(p["stimulus.gain"]), p["rate"]] for p in places(made)])
    unit = (points - [-1, 0.01]) / [2, 0.04]
    cells = np.floor(unit * 8).astype(int)  # a (0, m, 2)-net: one point in each cell of any 64 equal boxes
    assert len({tuple(cell) for cell in cells}) == 64
    assert places(design({"sobol": {"count": 64, "log": ["gain"], **ranges}})) == places(made)
    assert places(design({"sobol": {"count": 64, "seed": 1, "log": ["gain"], **ranges}})) != places(made)


def test_ranges_stand_for_lists():
    made = design({"rate": {"from": 0.01, "to": 1, "count": 3, "log": True}})
    assert [p["rate"] for p in places(made)] == [0.01, 0.1, 1.0]


def test_names_are_the_ends_of_paths_unless_they_clash_or_are_taken():
    made = design({"stimulus.scale": [1, 2], "init.scale": [1, 2], "stimulus.lengthscale.1": [2, 3], "loss": ["mse"]})
    assert made.names == {
        "stimulus.scale": "stimulus_scale",
        "init.scale": "init_scale",
        "stimulus.lengthscale.1": "lengthscale_1",
        "loss": "swept_loss",
    }
    assert [made.at(made.point(i))["stimulus"]["lengthscale"] for i in (0, 1)] == [[1, 2], [1, 3]]
    assert TRAIN["stimulus"]["lengthscale"] == [1, 3]


BAD = {
    "no table": ({}, "needs a table"),
    "empty list": ({"rate": []}, "rate must be a list with something in it"),
    "no list": ({"rate": 0.1}, "rate must be a list"),
    "too many": ({f"stimulus.x{i}": list(range(10)) for i in range(12)}, "1,000,000,000,000 settings are more"),
    "unequal": ({"zip": [["gain", "rate"]], "stimulus.gain": [1], "rate": [1, 2]}, "equally long, got 1 of"),
    "unknown tie": ({"zip": [["gian", "rate"]], "stimulus.gain": [1], "rate": [1]}, "no list to tie called 'gian'"),
    "tied twice": ({"zip": [["a", "b"], ["a", "c"]], "a": [1], "b": [1], "c": [1]}, "tied twice"),
    "unknown setting": ({"rtae": [1, 2]}, "no setting of a run called 'rtae'; did you mean rate"),
    "unknown inside": ({"stimulus.gian": [1, 2]}, "no setting of stimulus NLGP called 'gian'; did you mean gain"),
    "bad value": ({"stimulus.gain": [0.5, -1.5]}, "gain must be"),
    "bad place": ({"stimulus.lengthscale.2": [1, 2]}, "a list with a place 2"),
    "seeds": ({"seeds": [1, 2]}, "seeds are an axis already"),
    "both": ({"list": [{"rate": 1}], "sobol": {"count": 2, "rate": [1, 2]}}, "each is a design of its own"),
    "sobol without end": ({"sobol": {"count": 4, "rate": 3}}, "a range from a smaller to a larger number"),
    "sobol without count": ({"sobol": {"rate": [1, 2]}}, "count of sobol must be a whole number"),
    "sobol of many": ({"sobol": {"count": 10**12, "rate": [1, 2]}}, "count of sobol must be a whole number"),
    "list with a gap": ({"list": [{"rate": 0.1}, {"stimulus.gain": 1}]}, "entry 0 of list has no stimulus.gain"),
    "range": ({"rate": {"from": 0, "to": 1, "count": 3, "log": True}}, "both > 0"),
    "range without end": ({"rate": {"from": 1, "to": 10**400, "count": 3}}, "a range from a smaller to a larger"),
    "sobol with a seed of text": ({"sobol": {"count": 2, "seed": "a", "rate": [1, 2]}}, "seed of sobol must be"),
    "sobol with a log of nothing": ({"sobol": {"count": 2, "log": 5, "rate": [1, 2]}}, "log of sobol must be a list"),
    "nothing that varies": ({"stimulus": {}, "zip": []}, "names nothing that varies"),
    "range misspelt": ({"rate": {"from": 0, "to": 1, "cuont": 3}}, "did you mean count"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_in_one_line_before_anything_is_built(name):
    sweep, message = BAD[name]
    with pytest.raises(SettingError, match=message) as found:
        runner.sweep_plan({**TRAIN, "sweep": sweep})
    assert "\n" not in str(found.value)


def test_what_cannot_be_swept_is_named():
    with pytest.raises(SettingError, match="no setting of effective_flow called 'tmies'; did you mean times"):
        runner.sweep_plan({"what": "effective_flow", "tmies": [0], "sweep": {"stimulus.gain": [1, 2]}})
    with pytest.raises(SettingError, match='order must be "auto" or a whole number of pixels >= 1, got True'):
        runner.sweep_plan({"what": "window_flow", "times": [0], "order": True, "sweep": {"stimulus.gain": [1, 2]}})
    with pytest.raises(SettingError, match="what must be the name of what is repeated"):
        runner.sweep_plan({"what": ["train"], "sweep": {"rate": [1, 2]}})
    with pytest.raises(SettingError, match="seeds must be from 1 to"):
        runner.sweep_plan({**TRAIN, "seeds": 10**12, "sweep": {"stimulus.gain": [1, 2]}})
    with pytest.raises(SettingError, match="rate must be one number, or a list in the table"):
        runner.sweep_plan({**TRAIN, "rate": [0.1, 0.2], "sweep": {"stimulus.gain": [1, 2]}})


@pytest.mark.slow
def test_what_is_no_experiment_is_named():
    with pytest.raises(SettingError, match="no thing to sweep called 'fgi5'; did you mean fig5"):
        runner.sweep_plan({"what": "fgi5", "sweep": {"seeds": [2, 3]}})
    with pytest.raises(SettingError, match="no setting of fig5 called 'sedes'; did you mean seeds"):
        runner.sweep_plan({"what": "fig5", "sweep": {"sedes": [2, 3]}})


# Plans ----------------------------------------------------------------------------------------------------------------


def test_a_plan_is_a_function_of_the_file(tmp_path):
    file = tmp_path / "s.toml"
    text = "\n".join(f"{name} = {json.dumps(value)}" for name, value in TRAIN.items() if name != "stimulus")
    ring = '[stimulus]\nkind = "NLGP"\nsize = 24\nlengthscale = [1.0, 3]\n'
    file.write_text(f'{text}\n{ring}[sweep]\n"stimulus.gain" = [0.1, 0.3, 1.0, 3]\nrate = [0.02, 0.05]\n')
    one, other = runner.sweep_plan(file), runner.sweep_plan({**TRAIN, "sweep": {"stimulus.gain": GAINS, "rate": RATES}})
    assert [unit.name for unit in one.units] == [unit.name for unit in other.units]
    again = [type(unit).from_request(json.loads(json.dumps(unit.request()))) for unit in one.units]
    assert [unit.name for unit in again] == [unit.name for unit in one.units]
    changed = runner.sweep_plan(file, ["steps=6"])
    assert {unit.name for unit in changed.units}.isdisjoint(unit.name for unit in one.units)


@pytest.mark.parametrize(
    ("sweep", "base", "programs"),
    [
        ({"stimulus.gain": {"from": 0.1, "to": 3.0, "count": 100}, "rate": RATES}, {"seeds": 20}, 1),
        ({"stimulus.gain": GAINS, "stimulus.size": [24, 32], "batch": [8, 16]}, {}, 4),
        ({"stimulus.gain": [0.5, 1.5]}, {"seeds": 3000}, 1),
        ({"stimulus": ["NLGP", "Kur"], "init.scale": [0.1, 0.2]}, {}, 2),
    ],
)
def test_units_hold_every_network_once_and_share_programs(sweep, base, programs):
    made = plan_sweep(design(sweep, **base))
    seen = np.zeros((made.design.count, len(made.seeds)), int)
    for piece in made.pieces:
        seen[piece.places, piece.seeds] += 1
        assert piece.networks <= NETWORKS
    assert (seen == 1).all()
    assert len(set(made.groups)) == programs
    assert len(made.pieces) >= min(PARTS, made.networks // NETWORKS)


def test_units_are_bounded_by_memory():
    made = plan_sweep(
        design({"stimulus.gain": GAINS}, steps=1000, save_every=1, stimulus={**RING, "size": 400}, seeds=99)
    )
    records = 4 * 400 * 1001  # bytes of a network's weights at every step
    assert all(piece.networks * records <= BYTES for piece in made.pieces)
    assert max(piece.networks for piece in made.pieces) * records > BYTES / 4  # and not much smaller than need be


def test_seeds_that_share_out_streams_stay_together():
    made = plan_sweep(design({"stimulus.gain": [0.5, 1.5]}, seeds=1200, stream=3))
    assert all(piece.seeds == slice(0, 1200) for piece in made.pieces)


# Results --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A product of gains and rates, trained here."""
    folder = tmp_path_factory.mktemp("trained")
    plan = runner.sweep_plan({**TRAIN, "sweep": {"stimulus.gain": GAINS, "rate": RATES}})
    swept = runner.run_sweep(plan, on=ThisProcess(), out=folder, store=folder / "store", progress=False)
    return swept.path


def ring_task(gain):
    return lx.Task([lx.stimuli.NLGP(24, xi, gain) for xi in (1, 3)], [0, 1])


@pytest.mark.slow
def test_values_land_where_they_belong(trained):
    points = list(itertools.product(GAINS, RATES))
    tasks = [ring_task(gain) for gain, _ in points]
    run = lx.train(
        tasks, lx.networks.SingleReLU(), steps=4, batch=8, rate=[rate for _, rate in points], seeds=2, sweep="zip",
        init=lx.networks.Xavier(), saveat=lx.SaveAt(2, record=["loss"], probe=8), progress=False,
    )  # fmt: skip
    with xarray.open_dataset(trained) as data:
        assert data.weights.dims == ("gain", "rate", "seed", "time", "unit", "pixel")
        assert data.time.values.tolist() == [0, 2, 4]
        np.testing.assert_allclose(data.clock.sel(rate=0.05), [0, 0.1, 0.2])
        for i, (gain, rate) in enumerate(points):
            here = data.sel(gain=gain, rate=rate)
            assert np.array_equal(here.weights, run.weights[i])
            assert np.array_equal(here.loss, run.loss[i])
            np.testing.assert_allclose(here.ipr, lx.analysis.ipr(run.weights[i]), rtol=1e-6)
        assert (data.diverged == -1).all()


def test_a_table_has_a_row_for_each_field(trained):
    lines = runner.write_csv(trained).read_text().splitlines()
    head, first = lines[0].split(","), lines[1].split(",")
    assert head[:4] == ["gain", "rate", "seed", "unit"]
    assert len(lines) == 1 + 4 * 2 * 2
    with xarray.open_dataset(trained) as data:
        assert float(first[head.index("loss")]) == pytest.approx(float(data.loss[0, 0, 0, -1]), rel=1e-6)


def test_what_is_no_result_of_a_sweep_is_not_drawn(tmp_path):
    (tmp_path / "bad.nc").write_bytes(b"CDF\x01 and nothing more")
    xarray.Dataset({"x": 1}).to_netcdf(tmp_path / "other.nc")
    for name in ("bad.nc", "other.nc"):
        with pytest.raises(SettingError, match=f"{name} is no result of a sweep"):
            runner.sweep_figure(tmp_path / name, "gain")


@pytest.mark.slow
def test_pictures_have_errors_over_seeds_and_the_threshold(trained, monkeypatch):
    monkeypatch.setattr(_picture, "CHEAP", 0)
    panel = runner.sweep_figure(trained, "gain", "ipr", "rate").rows[0][0]
    x, y, error = panel.groups["rate = 0.05"]
    with xarray.open_dataset(trained) as data:
        last = data.ipr.sel(rate=0.05).isel(time=-1, unit=0).values
    assert x.tolist() == GAINS
    np.testing.assert_allclose(y, last.mean(1), rtol=1e-6)
    np.testing.assert_allclose(error, np.abs(last[:, 0] - last[:, 1]) / 2, rtol=1e-4)  # std/sqrt(2) of two values
    assert list(panel.marks.values()) == pytest.approx([steady.critical_gain(1, 3, 24)], rel=1e-6)
    diagram = runner.sweep_figure(trained, "excess_kurtosis", "rate", "ipr").rows[0][0]
    ((roots, rates),) = diagram.curves.values()
    law = lx.stimuli.NLGP(24, 3, steady.critical_gain(1, 3, 24)).marginal
    np.testing.assert_allclose(roots, law.excess_kurtosis(), rtol=1e-6)
    assert rates.tolist() == RATES
    assert diagram.values.shape == (2, 4)
    for wrong in (("gian", "ipr"), ("gain", "irp"), ("gain", "excess_kurtosis")):
        with pytest.raises(SettingError):
            runner.sweep_figure(trained, *wrong)
    with pytest.raises(SettingError, match=r"rate must be one of 0\.02, 0\.05"):
        runner.sweep_figure(trained, "gain", at={"rate": 0.03})


@pytest.mark.slow
def test_shapes_that_differ_share_the_longest_axis(tmp_path):
    sweep = {"list": [{"stimulus.size": 24, "steps": 2}, {"stimulus.size": 20, "steps": 4}]}
    plan = runner.sweep_plan({**TRAIN, "seeds": 1, "stimulus": {**RING, "lengthscale": [1, 2]}, "sweep": sweep})
    swept = runner.run_sweep(plan, on=ThisProcess(), out=tmp_path, store=tmp_path, progress=False)
    with xarray.open_dataset(swept.path) as data:
        assert data.weights.shape == (2, 1, 3, 1, 24)
        filled = np.isfinite(data.weights.values[:, 0, :, 0])
        assert filled.sum((1, 2)).tolist() == [2 * 24, 3 * 20]
        assert data["size"].values.tolist() == [24, 20]
        np.testing.assert_allclose(data.clock, [[0, 0.1, np.nan], [0, 0.1, 0.2]])
        last = runner.sweep_figure(swept.path, "size", theory=False).rows[0][0].groups["ipr"][1]
        assert np.isfinite(last).all()


@pytest.mark.slow
def test_pictures_have_the_threshold_of_the_true_flow_where_it_is_cheap(trained):
    eq5, true = runner.sweep_figure(trained, "gain", "ipr").rows[0][0].marks.values()
    assert eq5 == pytest.approx(steady.critical_gain(1, 3, 24), rel=1e-6)
    other = steady.exact_critical_value(ring_task, 0.1, 1, samples=2**12, seed=1)
    assert abs(true - other.value) < 6 * np.sqrt(2) * other.standard_error  # two samples of one size


@pytest.mark.slow
@pytest.mark.parametrize(("what", "options"), [("effective_flow", {}), ("window_flow", {"order": 2})])
def test_flows_are_those_of_theory_from_the_starts_of_training(what, options, tmp_path):
    flow = {"what": what, "times": [0, 1, 3], "seeds": 2, "stimulus": {"size": 8, "lengthscale": [0.5, 1]}, **options}
    plan = runner.sweep_plan({**flow, "sweep": {"stimulus.gain": [0.5, 3.0]}})
    swept = runner.run_sweep(plan, on=ThisProcess(), out=tmp_path, store=tmp_path, progress=False)
    task = lx.Task([lx.stimuli.NLGP(8, xi, 3.0) for xi in (0.5, 1)], [0, 1])
    w0 = lx.networks.Xavier().weights(lx.networks.seed_keys(np.arange(2)), 1, (8,), np.float32)
    alone = getattr(lx.theory, what)(task, w0, times=[0, 1, 3], **options)
    with xarray.open_dataset(swept.path) as data:
        assert np.array_equal(data.weights.sel(gain=3.0), alone.weights)
        assert np.array_equal(data.loss.sel(gain=3.0), alone.loss)


# Nothing is lost ------------------------------------------------------------------------------------------------------

THRESHOLD = {"what": "threshold", "stimulus": {**RING}, "low": 0.1, "high": 1, "sweep": {"stimulus.size": [24, 30, 36]}}


class Interrupted(AbstractExecutor):
    """Ctrl-C when the first unit is done."""

    def run(self, units, store, watch, *, replace=False):
        ThisProcess().run(units[:1], store, watch, replace=replace)
        raise KeyboardInterrupt


class Failing(AbstractExecutor):
    """The last unit fails."""

    def run(self, units, store, watch, *, replace=False):
        ThisProcess().run(units[:-1], store, watch, replace=replace)
        watch(units[-1], 1.0)
        return {units[-1].name: "Traceback\nValueError: on purpose"}


def threshold(folder, on=None):
    """Run a small sweep of a threshold into a folder; its units have two settings at most."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_plan, "FEWEST", 2)
        plan = runner.sweep_plan(THRESHOLD)
    return runner.run_sweep(plan, on=on or ThisProcess(), out=folder, store=folder / "store", progress=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """That sweep where nothing happens."""
    return threshold(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def copy(whole, tmp_path):
    """Its folder once more, to be harmed."""
    return shutil.copytree(whole.path.parent, tmp_path / "copy")


@pytest.mark.slow
def test_a_sweep_goes_on_where_it_was_interrupted_and_ends_with_the_same_bytes(tmp_path, whole):
    assert len(whole.plan.units) == 2
    with pytest.raises(KeyboardInterrupt):
        threshold(tmp_path, Interrupted())
    assert not (tmp_path / "sweep.nc").exists()
    resumed = threshold(tmp_path)
    assert resumed.results.loaded == {resumed.plan.units[0].name}
    assert resumed.path.read_bytes() == whole.path.read_bytes()
    made = whole.path.stat().st_mtime_ns
    again = threshold(whole.path.parent)
    assert len(again.results.loaded) == 2
    assert whole.path.stat().st_mtime_ns == made  # nothing was missing, so nothing was written
    with xarray.open_dataset(whole.path) as data:
        expected = [steady.critical_gain(1, 3, size) for size in (24, 36)]
        np.testing.assert_allclose(data.threshold[[0, -1]], expected, rtol=1e-6)  # roots from other ends


def test_a_unit_that_fails_is_told_and_leaves_a_gap_that_the_next_run_fills(copy, whole):
    Store(copy / "store").remove(whole.plan.units[-1].name)
    first = threshold(copy, Failing())
    assert first.troubles == ["threshold, 1 settings, 0 seeds: stimulus.size 36 .. 36: ValueError: on purpose"]
    with xarray.open_dataset(first.path) as data:
        assert np.isnan(data.threshold).values.tolist() == [False, False, True]
        assert data.attrs["missing"] == 1
    second = threshold(copy)
    assert second.troubles == []
    assert second.path.read_bytes() == whole.path.read_bytes()


def test_a_damaged_unit_is_found_set_aside_and_made_again(copy, whole):
    store, name = Store(copy / "store"), whole.plan.units[0].name
    file = store.root / name / store.find(name).files["numbers.npz"]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    second = threshold(copy)
    assert second.results.loaded == {second.plan.units[1].name}
    assert second.path.read_bytes() == whole.path.read_bytes()
    (aside,) = store.scan().foreign
    assert aside.startswith(name)
    assert store.leftovers(seconds=-1) == [store.root / aside]


class Overtaken(AbstractExecutor):
    """While this one waits for its turn, somebody else does all the units."""

    def __init__(self, source):
        self.source = source

    def run(self, units, store, watch, *, replace=False):
        del watch, replace
        for unit in units:
            shutil.copytree(self.source / unit.name, store.root / unit.name, dirs_exist_ok=True)
        return {}


def test_what_another_sweep_finishes_meanwhile_is_taken_as_it_is(tmp_path, whole, monkeypatch):
    source, finished = whole.path.parent / "store", Store.finished

    def slow(self, identity):  # the other one stores its unit when this one has just seen that it is missing
        found = finished(self, identity)
        if not found:
            Overtaken(source).run([u for u in whole.plan.units if u.identity == identity], self, lambda *_: None)
        return found

    monkeypatch.setattr(Store, "finished", slow)
    second = threshold(tmp_path, Overtaken(source))
    assert second.path.read_bytes() == whole.path.read_bytes()
    assert Store(tmp_path / "store").scan().foreign == ()  # nothing was set aside as damaged


def test_a_full_disk_is_told_and_the_next_run_goes_on(tmp_path, whole):
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    unit = max(path.stat().st_size for path in (whole.path.parent / "store").rglob("*.*"))
    assert unit < whole.path.stat().st_size
    for most, message in ((100, "every unit failed.*File too large"), (unit + 100, "sweep.nc cannot be written")):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        try:
            with pytest.raises((SettingError, OSError), match=message):
                threshold(tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert list(tmp_path.glob("*.nc")) + list(tmp_path.glob(".*")) == []
    last = threshold(tmp_path)
    assert len(last.results.loaded) == 2  # units that the second try could store
    assert last.path.read_bytes() == whole.path.read_bytes()


def test_a_folder_that_cannot_be_written_is_told_at_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        runner.run_sweep(runner.sweep_plan(THRESHOLD), on=ThisProcess(), out=tmp_path / "file", progress=False)


# The command ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def localax(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder of its own; gives its exit code and what it said on the error stream."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["localax", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code or 0, capsys.readouterr().err

    return run


@pytest.mark.slow
def test_the_command_runs_draws_and_tells_what_failed(tmp_path, localax):
    # The last setting has its longer lengthscale in the wrong class: nothing there changes stability.
    spread = ", ".join([*["2.0", "2.5", "3.0"] * 11, "0.5"])
    text = 'what = "threshold"\n[processes]\nworkers = 1\n[stimulus]\nsize = 24\nlengthscale = [1, 3]\n[sweep]\n'
    text += f'"stimulus.lengthscale.1" = [{spread}]\n'
    (tmp_path / "s.toml").write_text(text)
    code, said = localax("sweep", "s.toml", "--out", "out")
    assert code == 1
    assert "critical_value: low, high must be" in said
    assert "0 of 2 units, 1 running" in said or "1 of 2 units" in said
    with xarray.open_dataset(tmp_path / "out" / "sweep.nc") as data:
        assert np.isfinite(data.threshold).sum() == 32
    assert localax("plot", "out", "--x", "lengthscale_1", "--y", "threshold")[0] == 0
    assert (tmp_path / "out" / "lengthscale_1-threshold.png").exists()
    with xarray.open_dataset(tmp_path / "out" / "sweep.nc") as data:
        data.isel(lengthscale_1=0).to_netcdf(tmp_path / "part.nc")
    code, said = localax("plot", "part.nc", "--x", "lengthscale_1", "--y", "threshold")
    assert code == 2
    assert "is no result of a sweep" in said
    code, said = localax("sweep", "s.toml", "--set", "stimulus.kind=nlpg")
    assert code == 2
    assert said.count("\n") == 1


@pytest.mark.slow
def test_two_commands_on_one_store_end_with_the_same_bytes(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    words = ["-m", "localax", "sweep", "sweep.toml", "--store", "store", "--out"]
    started = [python(tmp_path, *words, out) for out in ("one", "other")]
    assert [code for code, _ in map(finished, started)] == [0, 0]
    quiet = runner.run_sweep(runner.sweep_plan(tmp_path / "sweep.toml"), on=ThisProcess(), out=tmp_path, progress=False)
    assert len(quiet.plan.units) == 6
    assert {(tmp_path / out / "sweep.nc").read_bytes() for out in ("one", "other")} == {quiet.path.read_bytes()}
    assert Store(tmp_path / "store").scan().foreign == ()


# The index of a store -------------------------------------------------------------------------------------------------


def test_an_index_says_what_reading_everything_says(tmp_path):
    store = Store(tmp_path)
    names = [store.save({"n": i}, {"a.npz": bytes([i])}, kind="sweep", title=str(i)).name for i in range(70)]
    first = store.scan()
    assert (tmp_path / "index.json").exists()
    assert store.scan() == first
    assert first.foreign == ()
    store.remove(names[3])
    store.save({"n": 4}, {"a.npz": b"longer"}, replace=True, title="new")
    file = tmp_path / names[5] / store.find(names[5]).files["a.npz"]
    file.write_bytes(b"cut short, or long")
    fast = store.scan()
    (tmp_path / "index.json").unlink()
    assert store.scan() == fast
    assert [other.name for other in fast.unfinished] == [names[5]]
    assert len(fast.runs) == 68
    assert {run.title for run in fast.runs} >= {"new", "69"}
    (tmp_path / "index.json").write_text("{nonsense")
    assert store.scan() == fast
