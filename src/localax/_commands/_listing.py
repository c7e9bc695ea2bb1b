"""``localax list``: what there is to build with, and its settings."""

import importlib
import json
from typing import Annotated, Any

import typer

from .._errors import unknown
from ._options import Json

SHELVES = {
    "stimuli": ("stimuli", "ALL"),
    "marginals": ("stimuli", "MARGINALS"),
    "covariances": ("stimuli", "COVARIANCES"),
    "radials": ("stimuli", "RADIALS"),
    "networks": ("networks", "ALL"),
    "initialisers": ("networks", "INITIALISERS"),
    "experiments": ("experiments", "ALL"),
}
"""What can be listed: the room and the tuple that holds it."""


def list_(
    what: Annotated[str | None, typer.Argument(help=f"One of {', '.join(SHELVES)}; everything if left out.")] = None,
    as_json: Json = False,
) -> None:
    """List stimuli, networks, experiments and what they are made of, with settings and ranges."""
    if what is not None and what not in SHELVES:
        raise unknown("list", what, SHELVES)
    shelves = {name: _shelf(*SHELVES[name]) for name in ([what] if what else SHELVES)}
    if as_json:
        print(json.dumps(shelves, indent=1))
        return
    for name, rows in shelves.items():
        print(f"{name}\n")
        for row in rows:
            print(f"  {row['name']:<28}{row['meaning']}")
            for setting in row["settings"]:
                default = f", default {setting['default']}" if "default" in setting else ""
                print(f"      {setting['name']:<22}{setting['meaning']} ({setting['range']}{default})")
        print()


def _shelf(room: str, shelf: str) -> list[dict[str, Any]]:
    from ..runner import in_words
    from ..spec import listing

    members = getattr(importlib.import_module(f"localax.{room}"), shelf)
    if isinstance(members, dict):
        return [{**listing(member), "name": name} for name, member in members.items()]
    return [{**listing(member), "settings": listing(in_words(member))["settings"]} for member in members]
