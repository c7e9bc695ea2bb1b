"""The command ``localax predict``: from a file of one's own data to a verdict."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._disk import refuse_unwritable
from .._errors import one_line
from ._options import Json

if TYPE_CHECKING:
    from ..prediction import Prediction


def predict(
    file: Annotated[Path, typer.Argument(help=".npy, .npz, .h5, .mat, .csv, an image or a folder of images.")],
    labels: Annotated[Path | None, typer.Option(help="A file with one of two values for every sample.")] = None,
    contrast: Annotated[Path | None, typer.Option(help="A file of samples of the other class.")] = None,
    array: Annotated[str | None, typer.Option(help="Which of several arrays in a file.")] = None,
    patch: Annotated[int, typer.Option(help="Side of the patches cut from images, 2 to 256.")] = 16,
    centre: Annotated[bool, typer.Option("--centre", help="Remove the mean of every pixel.")] = False,
    flows: Annotated[
        bool, typer.Option("--flows", help="Follow the theory's flows beside it, where they apply.")
    ] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Train eight networks on the data, too.")] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of clones and contrasts.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Folder for a page, a picture, JSON and the field.")] = None,
    as_json: Json = False,
) -> None:
    """Learn whether the receptive field of a ReLU neuron becomes local on your own data, where, and why.

    Samples are (n, pixels) or (n, height, width). Without labels or a contrast the neuron tells them from independent
    pixels of the same marginals.
    """
    from .. import prediction
    from .._progress import progress_bar

    if report is not None:
        refuse_unwritable(report)
    data, given = prediction.read_data(file, labels, array=array, patch=patch, seed=seed)
    other = None if contrast is None else prediction.read_samples(contrast, array=array, patch=patch, seed=seed)
    with progress_bar("predict", show=not as_json) as update:
        found = prediction.predict(
            data.samples, given, contrast=None if other is None else other.samples, centre=centre, seed=seed,
            flows=flows, verify=verify, progress=update,
        )  # fmt: skip
    notes = (*data.notes, *(other.notes if other else ()))
    found = dataclasses.replace(found, reasons=(*found.reasons, *notes))
    print(found.to_json() if as_json else found, flush=True)  # nothing that comes after may lose it
    page = None if report is None else _write(found, report, one_line(str(file)))
    if page is not None and not as_json:
        print(f"\nreport {page}")


LEADS = {
    "localizes": "On these data the receptive field of a ReLU neuron becomes local.",
    "does not localize": "On these data the receptive field of a ReLU neuron stays spread out.",
    "undecided": "On these data it hangs on the start whether the receptive field of a ReLU neuron becomes local.",
}
METHOD = (
    "The neuron learns to tell the samples from those of the other class by gradient descent, whose mean over batches "
    "is followed here, from many starts, on the samples themselves and on clones of them in which nothing can localize."
)


def _write(found: "Prediction", folder: Path, source: str) -> Path:
    """A page, its picture, the numbers and the field, in a folder; the page last, as it leads to the others."""
    import io

    import numpy as np

    from .._disk import write_atomically
    from ..report import Sheet, picture, sheet

    figure, field = found.figure(), io.BytesIO()
    np.save(field, found.field)
    numbers = json.dumps({"file": source, **json.loads(found.to_json())}, indent=1)
    pictures = {f"prediction.{form}": picture(figure, form) for form in ("svg", "png")}
    files = {**pictures, "prediction.json": numbers.encode(), "field.npy": field.getvalue()}
    content = Sheet(
        f"{source}: {found.verdict}", LEADS[found.verdict], METHOD, figure, found.facts(),
        lists=[("Why", found.reasons)], tables=[found.assumptions()], files=tuple(files),
    )  # fmt: skip
    page = sheet(content).encode()
    for name, data in files.items():
        write_atomically(folder / name, data)
    return write_atomically(folder / "index.html", page)
