"""Data of a visitor's own: taken in under harmless names, never unpickled, gone as soon as the answer is there."""

import base64
import json
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException, Request
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException as AnyHTTPException

from .._errors import SettingError
from ._numbers import packed

if TYPE_CHECKING:
    from ._jobs import Job
    from ._lab import Lab

BROUGHT = "brought"
"""Where files are put as they come."""
FILES, LONGEST = 200, 120
"""Files in one upload, and letters of a name, at most."""


async def received(lab: "Lab", request: Request, folder: Path) -> dict[str, Any]:
    """Keep what was sent in a new **folder**: where samples and labels are, and what they were called."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "multipart/form-data":
        raise HTTPException(422, "an upload must be multipart/form-data with a file called samples")
    try:
        async with request.form(max_files=FILES, max_fields=8) as form:
            return await lab.ask(_kept, form, folder)
    except AnyHTTPException as error:
        raise HTTPException(422, f"the upload cannot be read: {error.detail}") from None
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise HTTPException(507, f"the upload cannot be kept: {error.strerror}") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


async def receive_upload(lab: "Lab", request: Request) -> "Job":
    """Have a prediction made of what was sent, which is then gone."""
    folder = lab.folder / secrets.token_hex(8)
    asked = await received(lab, request, folder)
    try:
        return lab.start_job({"job": "predict", **asked}, lambda: shutil.rmtree(folder, ignore_errors=True))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _kept(form: FormData, folder: Path) -> dict[str, Any]:
    """Write the files into a folder of their own."""
    samples = [item for item in form.getlist("samples") if isinstance(item, UploadFile)]
    labels = [item for item in form.getlist("labels") if isinstance(item, UploadFile) and item.filename]
    if not samples:
        raise SettingError("predict: an upload needs a file called samples: .npy, .npz, .csv, .mat, .h5 or images")
    images = folder / BROUGHT / "images"
    images.mkdir(parents=True)
    paths = [_written(item, images) for item in samples]
    return {
        "samples": str(paths[0] if len(paths) == 1 else images),
        "labels": str(_written(labels[0], folder / BROUGHT)) if labels else None,
        "names": [_name(samples[0]) if len(paths) == 1 else "images", _name(labels[0]) if labels else ""],
    }


def _name(item: UploadFile) -> str:
    """What a file is called, without the folders that it came from."""
    return Path((item.filename or "").replace("\\", "/")).name[-LONGEST:]


def _written(item: UploadFile, folder: Path) -> Path:
    """Keep a file under its own name, as far as that is harmless; of two of one name the second gets a number."""
    name = re.sub(r"[^\w.-]", "_", Path(item.filename or "").name).lstrip(".")[-60:] or "unnamed"
    path = folder / name
    number = sum(1 for _ in folder.iterdir())
    with (path if not path.exists() else folder / f"{number}-{name}").open("xb") as file:
        shutil.copyfileobj(item.file, file)
    return Path(file.name)


def work(request: Mapping[str, Any], tell: Any, inbox: Any) -> dict[str, Any]:
    """The prediction for the files that a **request** names."""
    from ..prediction import predict, read_data
    from ..report import picture

    del inbox
    tell("progress", 0.05)
    data, labels = read_data(request["samples"], request["labels"])
    tell("progress", 0.2)
    found = predict(data.samples, labels, progress=lambda done: tell("progress", 0.2 + 0.7 * done))
    figure = found.figure()
    return {
        "summary": f"{found.verdict}: {found.reasons[0] if found.reasons else ''}",
        "facts": [list(fact) for fact in found.facts()],
        "reasons": list(found.reasons[1:]),
        "notes": list(data.notes),
        "field": packed(found.field),
        "prediction": json.loads(found.to_json()),
        "figures": [{"title": figure.title, "svg": _address(picture(figure, "svg"))}],
    }


def _address(svg: bytes) -> str:
    """A picture as an address that holds all of it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
