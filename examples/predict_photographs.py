"""Will fields on patches of photographs be local? Asked of the photographs inside scikit-image, as a folder of files.

Raw patches do not localize: what tells them from independent pixels is their brightness, which a spread field sees
best. The signs of patches less their brightness do. Run it: python examples/predict_photographs.py
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data

import localax as lx
from localax.prediction import read_samples

MOST = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
"""Patches that are looked at."""

with tempfile.TemporaryDirectory() as folder:
    for name in ("astronaut", "camera", "chelsea", "coffee", "rocket"):
        Image.fromarray(getattr(data, name)()).save(Path(folder) / f"{name}.png")
    read = read_samples(folder, patch=10)

print(*read.notes)
patches = np.random.default_rng(0).permutation(read.samples)[:MOST]
shade = patches - patches.mean((1, 2), keepdims=True)
for name, samples in {"raw": patches, "signs": np.where(shade > 0, 1.0, -1.0)}.items():
    found = lx.predict(samples, centre=True, explain=name == "raw")
    print(f"\n{name}\n{found}")
    lx.plot(found).save(f"predict_{name}.png")
