"""The command ``localax predict``: from a file of one's own data to a verdict."""

import base64
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._errors import SettingError
from ._options import Json

if TYPE_CHECKING:
    from .prediction import Prediction


def predict(
    file: Annotated[Path, typer.Argument(help=".npy, .npz, .h5, .mat, .csv, an image or a folder of images.")],
    labels: Annotated[Path | None, typer.Option(help="A file with one of two values for every sample.")] = None,
    contrast: Annotated[Path | None, typer.Option(help="A file of samples of the other class.")] = None,
    array: Annotated[str | None, typer.Option(help="Which of several arrays in a file.")] = None,
    patch: Annotated[int, typer.Option(min=2, max=256, help="Side of the patches cut from images.")] = 16,
    centre: Annotated[bool, typer.Option("--centre", help="Remove the mean of every pixel.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Train eight networks on the data, too.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of clones and contrasts.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Folder for a page, a picture, JSON and the field.")] = None,
    as_json: Json = False,
) -> None:
    """Learn whether the receptive field of a ReLU neuron becomes local on your own data, where, and why.

    Samples are (n, pixels) or (n, height, width). Without labels or a contrast the neuron tells them from independent
    pixels of the same marginals.
    """
    from . import prediction

    if report is not None and report.exists() and not report.is_dir():
        raise SettingError(f"predict: --report must be a folder, {report} is a file")
    data = prediction.read_samples(file, array=array, patch=patch, seed=seed)
    other = None if contrast is None else prediction.read_samples(contrast, array=array, patch=patch, seed=seed)
    given = None if labels is None else prediction.read_labels(labels)
    if given is not None and data.rows is not None and given.ndim == 1 and len(given) > data.rows[-1]:
        given = given[data.rows]
    found = prediction.predict(
        data.samples, given, contrast=None if other is None else other.samples, centre=centre, seed=seed, verify=verify
    )
    notes = (*data.notes, *(other.notes if other else ()))
    found = dataclasses.replace(found, reasons=(*found.reasons, *notes))
    print(found.to_json() if as_json else found)
    if report is not None:
        page = _write(found, report, str(file))
        if not as_json:
            print(f"\nreport {page}")


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }}
table {{ margin: 1em 0 }} td, th {{ padding: 0 1em 0 0 }} img {{ max-width: 100% }}</style></head>
<body><h1>{title}</h1>
<img alt="the field, fields from several starts, and the learning curve" src="data:image/svg+xml;base64,{picture}">
{body}
</body></html>
"""


def _write(found: "Prediction", folder: Path, source: str) -> Path:
    """A page, its picture, the numbers and the field, in a folder."""
    import html
    import io

    import numpy as np

    from ._disk import write_atomically
    from .report import picture

    folder.mkdir(parents=True, exist_ok=True)
    drawn = picture(found.figure(), "svg")
    field = io.BytesIO()
    np.save(field, found.field)
    title = html.escape(f"{source}: {found.verdict}")
    text = PAGE.format(title=title, picture=base64.b64encode(drawn).decode(), body=found.to_html())
    numbers = json.dumps({"file": source, **json.loads(found.to_json())}, indent=1)
    files = {"field.npy": field.getvalue(), "prediction.svg": drawn, "prediction.json": numbers.encode()}
    for name, content in files.items():
        write_atomically(folder / name, content)
    return write_atomically(folder / "index.html", text.encode())
