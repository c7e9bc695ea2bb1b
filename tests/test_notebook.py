"""What a notebook calls in one line: plots, comparisons, the list of runs; and a real notebook that does it all."""

import io

import jax
import matplotlib.image
import nbclient
import nbformat
import numpy as np
import pytest

import localax as lx
from localax import _progress
from localax.analysis import evolution, setting_labels
from localax.outcome import Fields, Figure, Lines, Outcome, Scatter, Table
from localax.store import Store


def wandering(times, speed: float = 1.0, settings: int = 0, named: dict | None = None, **swept) -> lx.Trajectory:
    """Three seeds, two units, one pixel lit, its height growing linearly with time."""
    weights = np.zeros((3, len(times), 2, 8))
    weights[np.arange(3), :, :, np.arange(3)] = (1 + speed * np.asarray(times, float))[None, :, None]
    loss = np.exp(-np.asarray(times, float))[None].repeat(3, 0)
    if settings:
        weights, loss = np.stack([weights] * settings), np.stack([loss] * settings)
    return lx.Trajectory(np.asarray(times, float), weights, loss=loss, settings=named or {}, swept=swept)


# Comparing ------------------------------------------------------------------------------------------------------------


def test_compare_interpolates_between_records():
    a, b = wandering([0, 1, 2, 3]), wandering([0, 3])
    same = lx.compare(a, b)  # linear growth: interpolation is exact
    np.testing.assert_allclose(same.distance, 0, atol=1e-12)
    np.testing.assert_allclose(same.ipr, 1)
    np.testing.assert_array_equal(same.peaks, 1)
    assert same.sentence() == "within 5% of each other throughout; at the end 0.0% apart, peaks agree in 6 of 6"


def test_compare_measures_distance_and_peaks():
    a, b = wandering([0, 1, 2]), wandering([0, 1, 2], speed=3)
    np.testing.assert_allclose(lx.compare(a, b).distance, [0, 2 / 4, 4 / 7])
    moved = lx.Trajectory(a.time, np.roll(a.weights, 1, axis=-1))
    assert np.all(lx.compare(a, moved).peaks == 0)
    np.testing.assert_allclose(lx.compare(a, moved).distance, np.sqrt(2))
    assert (
        lx.compare(a, b).sentence() == "more than 5% apart from t = 1 on; at the end 57.1% apart, peaks agree in 6 of 6"
    )


def test_compare_takes_only_times_that_both_have():
    """Beyond the end of b there is nothing to compare with."""
    np.testing.assert_array_equal(lx.compare(wandering([0, 1, 2, 3]), wandering([0, 2])).time, [0, 1, 2])
    np.testing.assert_array_equal(lx.compare(wandering([0, 1, 2]), wandering([0, 2 - 1e-9])).time, [0, 1, 2])
    np.testing.assert_array_equal(lx.compare(wandering([0, 1]), wandering([1])).time, [1])
    with pytest.raises(lx.SettingError, match=r"^compare: the runs share no time: [^\n]*$"):
        lx.compare(wandering([0, 1]), wandering([2, 3]))


def test_compare_refuses_what_cannot_be_compared():
    with pytest.raises(ValueError, match="same shape"):
        lx.compare(wandering([0, 1]), lx.Trajectory(np.array([0.0, 1.0]), np.ones((3, 2, 2, 9))))


@pytest.mark.parametrize("records", [2, 8, 9, 102])
def test_a_comparison_has_at_most_eight_rows_from_the_first_time_to_the_last(records):
    times = np.linspace(0, 5, records)
    head, *rows, sentence = str(lx.compare(wandering(times), wandering(times, speed=2))).splitlines()
    assert head.split() == ["time", "distance", "IPR", "a", "IPR", "b", "peaks"]
    assert len(rows) == min(records, 8)
    shown = [row.split()[0] for row in rows]
    assert shown[0] == "0"
    assert shown[-1] == "5"
    assert "peaks agree" in sentence


def test_a_sentence_says_until_when_runs_are_near_and_where_they_end():
    times = np.arange(5.0)
    a = wandering(times)
    drift = np.array([1, 1.01, 1.049, 1.1, 1.5])[:, None, None]
    off = lx.Trajectory(times, a.weights * drift)
    assert lx.compare(off, a).sentence() == "within 5% until t = 2; at the end 50.0% apart, peaks agree in 6 of 6"
    weights = a.weights.copy()
    weights[0, 3:] = np.inf
    broken = lx.Trajectory(times, weights)
    assert lx.compare(broken, a).sentence() == "within 5% until t = 2; at the end not finite"


def test_a_field_of_zeros_is_at_no_distance_from_itself_and_has_no_peak():
    silent = lx.Trajectory(np.arange(2.0), np.zeros((3, 2, 1, 8)))
    np.testing.assert_array_equal(lx.compare(silent, silent).distance, 0)
    np.testing.assert_array_equal(lx.compare(silent, silent).peaks, 0)


def test_sweeps_are_compared_setting_by_setting():
    a, b = wandering([0, 1, 2], settings=2), wandering([0, 1, 2], speed=3, settings=2)
    both = lx.compare(a, b)
    np.testing.assert_allclose(both.distance, [[0, 2 / 4, 4 / 7]] * 2)
    assert both.peaks.shape == both.ipr[0].shape == both.ipr[1].shape == both.time.shape == (2, 3)
    np.testing.assert_allclose(lx.compare(a.select(1), b.select(-1)).distance, both.distance[1])
    assert str(both).splitlines()[-1].endswith("peaks agree in 12 of 12")
    assert len(str(both).splitlines()) == 4  # a head, a row a setting, a sentence


def test_sweeps_with_clocks_of_their_own_are_compared_by_their_clocks():
    a = wandering([0, 1, 2], settings=2)
    clocks = lx.Trajectory(np.stack([a.time, 2 * a.time]), a.weights)
    np.testing.assert_array_equal(lx.compare(clocks, clocks).time, [[0, 1, 2], [0, 2, 4]])
    other = lx.Trajectory(np.stack([a.time, a.time]), a.weights)
    with pytest.raises(lx.SettingError, match=r"unequally many times; choose one with \.select\(i\)"):
        lx.compare(clocks, other)


# Plotting -------------------------------------------------------------------------------------------------------------


def test_a_trajectory_becomes_a_figure():
    fields, last = evolution(wandering([0, 1, 2])).rows[0]
    assert fields.values.shape == (3, 8)
    assert last.values.shape == (6, 8)
    local, loss = evolution(wandering([0, 1, 2])).rows[1]
    assert isinstance(local, Lines)
    assert all(np.allclose(curve, 1) for curve in local.curves.values())
    np.testing.assert_allclose(loss.curves["seed 1"], np.exp(-np.arange(3)))


def test_seeds_are_called_by_their_names_and_units_are_counted_from_0():
    local, loss = evolution(wandering([0, 1, 2], named={"seeds": [7, 9, 4]})).rows[1]
    assert list(loss.curves) == ["seed 7", "seed 9", "seed 4"]
    assert list(local.curves)[:3] == ["seed 7, unit 0", "seed 7, unit 1", "seed 9, unit 0"]
    for unclear in ([7, 7, 4], [7, 9], 3, ["a", "b", "c"]):  # no names for three seeds
        assert wandering([0, 1], named={"seeds": unclear}).seeds == (0, 1, 2)


@pytest.mark.parametrize("count", [2, 30])
def test_all_settings_of_a_sweep_are_drawn_or_some_and_the_ends_of_all(count):
    figure = evolution(wandering([0, 1, 2], settings=count))
    *rows, (ends,) = figure.rows
    assert len(rows) == len(figure.labels) == min(count, 6)
    assert figure.labels[0] == "setting 0"
    assert figure.labels[-1] == f"setting {count - 1}"
    assert isinstance(ends, Scatter)
    ((x, mean, deviation),) = ends.groups.values()
    np.testing.assert_array_equal(x, np.arange(count))
    np.testing.assert_allclose(mean, 1)
    np.testing.assert_allclose(deviation, 0)


def test_settings_are_called_by_what_was_swept():
    gains, rates = np.array([0.1, 1.0, 10.0]), np.array([1.0, 1.0, 2.0])
    sweep = wandering([0, 1], settings=3, gain=gains, rate=rates)
    *_, (ends,) = evolution(sweep).rows
    assert setting_labels(sweep) == ("gain = 0.1, rate = 1", "gain = 1, rate = 1", "gain = 10, rate = 2")
    assert (ends.xlabel, ends.logx) == ("gain", True)
    ((x, _, _),) = ends.groups.values()  # the gain tells the settings apart
    np.testing.assert_array_equal(x, gains)
    assert lx.compare(sweep, sweep).labels == setting_labels(sweep)
    assert "gain = 10, rate = 2" in str(lx.compare(sweep, sweep))
    with pytest.raises(
        lx.SettingError, match=r"^compare: the settings differ: gain = 0.1, rate = 1 \.\.\. and gain = 3 "
    ):
        lx.compare(sweep, wandering([0, 1], settings=3, gain=np.array([3.0, 4, 5])))


def test_settings_combined_all_with_all_are_drawn_in_groups():
    gains, rates = np.array([3.0, 1, 3, 1]), np.array([0.1, 0.1, 0.2, 0.2])
    *_, (ends,) = evolution(wandering([0, 1], settings=4, gain=gains, rate=rates)).rows
    assert list(ends.groups) == ["rate = 0.1", "rate = 0.2"]
    assert all(list(x) == [1, 3] for x, _, _ in ends.groups.values())


def nlgp(size, gain=3.0):
    return lx.stimuli.NLGP(size, 1, gain)


def outcome(title="found"):
    lines = Lines("line", np.arange(3.0), {"y": np.arange(3.0)})
    figures = (Figure("one", ((lines,),), ("row",)), Figure("two", ((Table("", ("a",), ((1,),)),), (lines, lines))))
    return Outcome(title, "text", figures, name="name")


PLOTTED = {
    "trajectory": lambda: wandering([0, 1]),
    "torus": lambda: lx.Trajectory(np.arange(2.0), np.ones((3, 2, 2, 4, 5)), pixel_ndim=2),
    "sweep": lambda: wandering([0, 1], settings=2),
    "comparison": lambda: lx.compare(wandering([0, 1]), wandering([0, 1])),
    "compared sweeps": lambda: lx.compare(wandering([0, 1], settings=2), wandering([0, 1], settings=2)),
    "stimulus": lambda: nlgp(16),
    "stimulus on a torus": lambda: nlgp((8, 6)),
    "samples": lambda: lx.stimuli.Empirical(np.random.default_rng(0).normal(size=(50, 12))),
    "task": lambda: lx.Task([nlgp(16), nlgp(16, 0.1)], [0, 1]),
    "amplifier": lambda: lx.theory.amplifier(nlgp(16)),
    "heavy tails": lambda: lx.theory.amplifier(lx.stimuli.Elliptical(16, 1, lx.stimuli.RadialStudentT(df=3))),
    "outcome": outcome,
    "figure": lambda: outcome().figures[0],
    "field": lambda: np.arange(8.0),
    "fields": lambda: jax.numpy.ones((2, 8)),
    "images": lambda: np.ones((3, 4, 4)).tolist(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLOTTED)
def test_plot_draws(name):
    axes = [ax for ax in lx.plot(PLOTTED[name]()).canvas.axes if ax.axison]
    assert axes
    assert all(ax.has_data() for ax in axes)


def test_the_plot_of_a_stimulus_shows_what_it_says_of_itself():
    stimulus = nlgp((8, 6))
    sample, covariance, marginal = lx.plot(stimulus).record.rows[0]
    assert isinstance(sample, Fields)
    (exact,), (sampled,) = covariance.curves.values(), covariance.points.values()
    np.testing.assert_array_equal(exact, stimulus.covariance()[0, :4])
    np.testing.assert_allclose(sampled, exact, atol=6 / np.sqrt(2000))  # of products of pixels with variance 1
    assert "-1.834" in marginal.title


def test_the_plot_of_an_amplifier_shows_its_tangent_and_third_order():
    gain = nlgp(16)
    (panel,) = lx.plot(lx.theory.amplifier(gain)).record.rows[0]
    tangent = np.sqrt(2 / np.pi) * panel.x
    np.testing.assert_allclose(panel.curves["tangent"], tangent)
    cubic = tangent * (1 - gain.marginal.excess_kurtosis() / 6 * panel.x**2)  # Lemma B.1
    np.testing.assert_allclose(panel.curves["Taylor, order 3"], cubic)
    (heavy,) = lx.plot(PLOTTED["heavy tails"]()).record.rows[0]
    assert list(heavy.curves) == ["phi", "tangent"]


def test_a_plot_shows_itself_and_is_saved_in_one_line(tmp_path):
    shown = lx.plot(np.sin(np.arange(20.0)))
    assert matplotlib.image.imread(io.BytesIO(shown._repr_png_())).std() > 0
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for form, start in starts.items():
        assert shown.save(tmp_path / f"field.{form}").read_bytes().startswith(start)
    with pytest.raises(lx.SettingError, match=r"ends in \.png, \.svg, \.pdf, got"):
        shown.save(tmp_path / "field.jpg")


@pytest.mark.parametrize("what", ["field", np.ones((1, 1, 2, 2)), None, [[1], [1, 2]], np.ones(0)], ids=repr)
def test_plot_refuses_anything_else_in_one_line(what):
    with pytest.raises(ValueError, match=r"^plot: takes [^\n]*$"):
        lx.plot(what)


# Runs -----------------------------------------------------------------------------------------------------------------


def test_runs_lists_what_was_saved(tmp_path):
    assert lx.runs(str(tmp_path)) == []
    assert repr(lx.runs(tmp_path)) == "no runs stored"
    Store(tmp_path).save({"a": 1}, {"trajectory.npz": wandering([0, 1]).to_bytes()}, title="one <run>")
    (run,) = listed = lx.runs(str(tmp_path))
    assert run.identity == {"a": 1}
    assert lx.load(tmp_path / run.name / run.files["trajectory.npz"]).weights.shape == (3, 2, 2, 8)
    assert run.name in repr(listed)
    assert "one <run>" in repr(listed)
    assert "one &lt;run&gt;" in listed._repr_html_()


# Progress -------------------------------------------------------------------------------------------------------------


def test_progress_is_silent_where_nobody_watches(capsys):
    with _progress.progress_bar("training", steps=10) as update:
        update(0.5)
    assert capsys.readouterr() == ("", "")


class Cell:
    """What IPython's display gives back, remembering what it was shown."""

    def __init__(self):
        self.shown = []

    def display(self, content, raw, display_id):
        assert raw
        assert display_id
        self.shown.append(content["text/plain"])
        return self

    def update(self, content, raw):
        assert raw
        self.shown.append(content["text/plain"])


@pytest.fixture
def cell(monkeypatch):
    """A notebook's cell."""
    import IPython.display

    one = Cell()
    monkeypatch.setattr(_progress, "_in_notebook", lambda: True)
    monkeypatch.setattr(IPython.display, "display", one.display)
    monkeypatch.setattr(_progress, "PAUSE", 0.0)
    return one


def test_progress_in_a_cell_takes_the_place_of_the_last(cell):
    with _progress.progress_bar("training", steps=1000) as update:
        for fraction in (0.25, 0.5, 1.0):
            update(fraction)
    assert [text.split("%")[0].split()[-1] for text in cell.shown] == ["25", "50", "100", "100"]
    assert all(text.startswith("training") and " left " in text and "\n" not in text for text in cell.shown)
    assert "steps/s" in cell.shown[-1]


def test_a_board_in_a_cell_shows_what_goes_on_beside_the_whole(cell):
    with _progress.progress_board("experiments", ["a", "b"]) as update:
        update("a", 0.5)
        update("b", 1.0)
    assert [line.split()[0] for line in cell.shown[0].splitlines()] == ["experiments", "a"]
    assert "75%" in cell.shown[-1].splitlines()[0]
    assert len(cell.shown[-1].splitlines()) == 2  # b is done


# A real notebook ------------------------------------------------------------------------------------------------------

CELLS = """
import warnings; warnings.simplefilter("error"); import localax as lx

short, long = (lx.stimuli.NLGP(size=16, lengthscale=xi, gain=3) for xi in (0.5, 1))
task = lx.Task([short, long], labels=[0, 1]); task

run = lx.train(task, lx.networks.SingleReLU(), steps=200, batch=16, rate=0.05, seeds=[7, 9]); run

lx.plot(run)

lx.compare(run, run)

lx.theory.amplifier(long)

print(lx.compare(run, run)); print(long); print(lx.analysis.ipr(run).shape)
""".strip().split("\n\n")


@pytest.mark.slow
def test_a_fresh_notebook_shows_everything(tmp_path, monkeypatch):
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    _, task, run, plot, compared, amplifier, printed = (cell.outputs for cell in book.cells)
    assert "<td" in task[0].data["text/html"]
    progress, result = run
    assert "100%" in progress.data["text/plain"]
    assert "left" in progress.data["text/plain"]
    assert "2 done" in result.data["text/html"]
    (picture,) = plot
    assert picture.data["image/png"].startswith("iVBOR")
    assert "peaks agree in 2 of 2" in compared[0].data["text/html"]
    assert "excess kurtosis" in amplifier[0].data["text/html"]
    (text,) = printed
    assert text.name == "stdout"
    assert text.text.splitlines()[-2:] == ["NLGP(size=16, lengthscale=1, gain=3)", "(2, 101, 1)"]
