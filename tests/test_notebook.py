"""What a notebook calls in one line: plots and comparisons of trajectories, and the list of runs."""

import numpy as np
import pytest

import localax as lx
from localax._record import Lines
from localax.analysis import evolution


def wandering(times, speed: float = 1.0, settings: int = 0) -> lx.Trajectory:
    """Three seeds, two units, one pixel lit, its height growing linearly with time."""
    weights = np.zeros((3, len(times), 2, 8))
    weights[np.arange(3), :, :, np.arange(3)] = (1 + speed * np.asarray(times, float))[None, :, None]
    loss = np.exp(-np.asarray(times, float))[None].repeat(3, 0)
    if settings:
        weights, loss = np.stack([weights] * settings), np.stack([loss] * settings)
    return lx.Trajectory(np.asarray(times, float), weights, loss=loss)


def test_compare_interpolates_between_records():
    a, b = wandering([0, 1, 2, 3]), wandering([0, 3])
    same = lx.compare(a, b)  # linear growth: interpolation is exact
    np.testing.assert_allclose(same.distance, 0, atol=1e-12)
    np.testing.assert_allclose(same.ipr, 1)
    np.testing.assert_array_equal(same.peaks, 1)


def test_compare_measures_distance_and_peaks():
    a, b = wandering([0, 1, 2]), wandering([0, 1, 2], speed=3)
    np.testing.assert_allclose(lx.compare(a, b).distance, [0, 2 / 4, 4 / 7])
    moved = lx.Trajectory(a.time, np.roll(a.weights, 1, axis=-1))
    assert np.all(lx.compare(a, moved).peaks == 0)
    np.testing.assert_allclose(lx.compare(a, moved).distance, np.sqrt(2))
    assert "distance" in str(lx.compare(a, b))


def test_compare_refuses_what_cannot_be_compared():
    with pytest.raises(ValueError, match="same shape"):
        lx.compare(wandering([0, 1]), lx.Trajectory(np.array([0.0, 1.0]), np.ones((3, 2, 2, 9))))


@pytest.mark.parametrize("settings", [0, 2])
def test_a_trajectory_becomes_a_figure(settings):
    figure = evolution(wandering([0, 1, 2], settings=settings))
    fields, last = figure.rows[0]
    assert fields.values.shape == (3, 8)
    assert last.values.shape == (6, 8)
    local, loss = figure.rows[1]
    assert isinstance(local, Lines)
    assert all(np.allclose(curve, 1) for curve in local.curves.values())
    np.testing.assert_allclose(loss.curves["seed 1"], np.exp(-np.arange(3)))


@pytest.mark.parametrize("what", [wandering([0, 1]), np.arange(8.0), np.ones((2, 8)), np.ones((3, 4, 4))])
def test_plot_draws_trajectories_and_fields(what):
    assert all(axes.has_data() for axes in lx.plot(what).axes)


@pytest.mark.parametrize("what", ["field", np.ones((1, 1, 2, 2)), None])
def test_plot_refuses_anything_else_in_one_line(what):
    with pytest.raises(ValueError, match=r"^plot: [^\n]*$"):
        lx.plot(what)


def test_runs_lists_what_was_saved(tmp_path):
    from localax.store import Store

    assert lx.runs(str(tmp_path)) == []
    Store(tmp_path).save({"a": 1}, wandering([0, 1]))
    (run,) = lx.runs(str(tmp_path))
    assert run.settings == {"a": 1}
    assert lx.load(tmp_path / run.name / "trajectory.npz").weights.shape == (3, 2, 2, 8)
