"""The phenomenon in one picture: the same covariance, with and without non-Gaussian marginals.

Eight ReLU neurons learn to tell long from short correlation lengths, once on a nonlinear Gaussian process with
saturated pixels and once on the Gaussian with the same covariance. Run it: python examples/first_field.py
"""

from pathlib import Path

import jax
import numpy as np

import localax as lx
from localax.outcome import Fields, Figure, Lines
from localax.report import picture

stimuli = [lx.stimuli.NLGP(40, lengthscale, gain=100) for lengthscale in (0.3, 0.7)]
clones = [lx.stimuli.GaussianClone(stimulus) for stimulus in stimuli]

rows, labels = [], ("NLGP", "Gaussian clone")
for classes in (stimuli, clones):
    task = lx.Task(classes, labels=[0, 1])
    run = lx.train(task, lx.networks.SingleReLU(), steps=4000, batch=256, rate=0.05, seeds=8, estimator="orbit")
    local = lx.analysis.ipr(run)[:, :, 0]
    fields = Fields("learned receptive fields", run.final[:, 0])
    growth = Lines("localization", run.time, {"mean of 8 seeds": local.mean(0)}, xlabel="time", ylabel="IPR")
    sample = classes[1].sample(jax.random.key(1), 1)
    rows.append((Lines("a sample", np.arange(40.0), {"x": np.asarray(sample[0])}, xlabel="pixel"), fields, growth))
    print(f"{type(classes[0]).__name__}: IPR {local[:, -1].mean():.3f}")

out = Path("first_field.png")
out.write_bytes(picture(Figure("", tuple(rows), labels), "png"))
print(f"wrote {out}")
