"""What came of a training run: a row for every field, and a picture."""

import json
from pathlib import Path
from typing import Any


def report_run(trajectory: Any, store: Any, name: str, loaded: bool, as_json: bool) -> None:
    import numpy as np

    from ..analysis import Kind, classify, ipr, peak

    ndim = trajectory.pixel_ndim
    fields = trajectory.final.reshape(-1, *trajectory.pixels)
    numbers = {
        "run": name,
        "folder": str(store.root / name),
        "loaded": loaded,
        "status": list(trajectory.status),
        "loss": None if trajectory.loss is None else np.asarray(trajectory.loss[..., -1], float).ravel().tolist(),
        "ipr": ipr(fields, ndim=ndim).tolist(),
        "peak": peak(fields, ndim=ndim).tolist(),
        "kind": [Kind(int(kind)).name.lower() for kind in classify(fields, ndim=ndim)],
        "picture": None,
    }
    try:
        numbers["picture"] = drawn = str(_picture(trajectory, store, name))
    except OSError as error:  # a store of somebody else, or a full disk
        drawn = f"not drawn: {error.strerror}"
    if as_json:
        print(json.dumps(numbers, indent=1))
        return
    _print_fields(trajectory, numbers)
    status = {s: trajectory.status.count(s) for s in dict.fromkeys(trajectory.status)}
    print(", ".join(f"{count} {s}" for s, count in status.items()))
    print(f"{'loaded from' if loaded else 'kept in'} {numbers['folder']}\npicture {drawn}")


SHOWN = 40
"""Rows of a table of fields that are printed."""


def _print_fields(trajectory: Any, numbers: dict[str, Any]) -> None:
    """One row a field, called by its setting where settings are swept, its seed and its unit."""
    heads = "".join(f"{setting:>12} " for setting in trajectory.swept)
    print(f"{heads}{'seed':>6} {'unit':>5} {'IPR':>8} {'peak':>8}  kind")
    for i, (local, place, kind) in enumerate(zip(numbers["ipr"], numbers["peak"], numbers["kind"], strict=True)):
        if i == SHOWN:
            print(f"   ... and {len(numbers['ipr']) - SHOWN} more")
            break
        run, unit = divmod(i, trajectory.n_units)
        place_in_sweep, seed = divmod(run, trajectory.n_seeds)
        swept = "".join(f"{values[place_in_sweep]:12g} " for values in trajectory.swept.values())
        print(f"{swept}{trajectory.seeds[seed]:6d} {unit:5d} {local:8.4f} {place!s:>8}  {kind}")


def _picture(trajectory: Any, store: Any, name: str) -> Path:
    """A picture of the run beside its file, drawn when first asked for."""
    from .._disk import write_atomically
    from ..analysis import evolution
    from ..report import picture

    run = store.find(name)
    path = store.root / name / run.files["trajectory.npz"].replace("trajectory", "evolution").replace(".npz", ".png")
    return path if path.exists() else write_atomically(path, picture(evolution(trajectory), "png"))
