"""The reference: a page for every room, made from its ``__all__``, so that what is public is there and stays there."""

import contextlib
import enum
import importlib
import inspect
import re
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from types import GenericAlias, ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

import localax
from localax.spec import settings_of

ROOT = Path(localax.__file__).parent
ROOMS = sorted(
    ".".join(path.parent.relative_to(ROOT.parent).parts)
    for path in ROOT.glob("*/**/__init__.py")
    if not any(part.startswith("_") or part == "toolkit" for part in path.parent.relative_to(ROOT).parts)
)


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", explain)
    app.connect("autodoc-process-signature", short_signature)


# Pages ----------------------------------------------------------------------------------------------------------------


def write_pages(app: Sphinx) -> None:
    """A page that has not changed is not written, so that it is not read again either."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = {"index": front_page(), **{room.removeprefix("localax."): room_page(room) for room in ROOMS}}
    for old in set(folder.iterdir()) - {folder / f"{name}.rst" for name in pages}:
        old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def front_page() -> str:
    """The rooms, and what the root offers: links where a room has it, else the thing itself."""
    names = [name for name in _public(localax) if name != "__version__"]
    homes = {name: home for name in names if (home := f"localax.{localax._NAMES[name]}") in ROOMS}
    links = ", ".join(f":py:obj:`lx.{name} <{home}.{name}>`" for name, home in sorted(homes.items()))
    own = [name for name in names if name not in homes]
    rooms = [f"- :doc:`{(short := room.removeprefix('localax.'))} <{short}>`: {_opening(room)}" for room in ROOMS]
    return "\n".join([
        _title("Reference"), "Every public name of every room. ``import localax as lx`` gives the rooms, and at once:",
        f"{links}.", "", *rooms, "", *_entries(localax, own),
        ".. toctree::", "   :hidden:", "", *(f"   {room.removeprefix('localax.')}" for room in ROOMS), "",
    ])  # fmt: skip


def room_page(room: str) -> str:
    front = importlib.import_module(room)
    names = sorted(_public(front), key=lambda name: _kind(getattr(front, name)) == "data")
    listed = [name for name in names if _kind(getattr(front, name)) != "data"]
    table = [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in listed), ""] if listed else []
    head = [_title(room.removeprefix("localax.")), f".. automodule:: {room}", "   :no-members:", ""]
    return "\n".join([*head, *table, *_entries(front, names)])


def _public(front: ModuleType) -> list[str]:
    """What a room offers, without the rooms inside it, which have pages of their own, and without what others show."""
    named = {name: getattr(front, name) for name in front.__all__}
    return [name for name, value in named.items() if not isinstance(value, ModuleType) and not _around(front, value)]


def _around(front: ModuleType, value: Any) -> bool:
    """Whether a class stands in the room around this one, which has one page alone for it."""
    outer = front.__name__.rpartition(".")[0]
    return inspect.isclass(value) and outer in ROOMS and value in vars(sys.modules[outer]).values()


def _entries(front: ModuleType, names: Iterable[str]) -> list[str]:
    return [f".. currentmodule:: {front.__name__}", "", *(line for name in names for line in _entry(front, name))]


def _entry(front: ModuleType, name: str) -> list[str]:
    value = getattr(front, name)
    if (kind := _kind(value)) == "data":
        return [f".. py:data:: {name}", "", *(f"   {line}" for line in _constant(front.__name__, name, value)), ""]
    members = ["   :members:"] if kind == "class" else []
    return [f".. auto{kind}:: {name}", *members, *(["   :undoc-members:"] if _is_enum(value) else []), ""]


def _kind(value: Any) -> str:
    if inspect.isclass(value) and not isinstance(value, GenericAlias):
        return "exception" if issubclass(value, Exception) else "class"
    return "function" if inspect.isfunction(inspect.unwrap(value)) else "data"


def _is_enum(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, enum.Enum)


def _constant(room: str, name: str, value: Any) -> list[str]:
    """What its file says of it, and what it holds."""
    homes = [module for module in sorted(sys.modules) if module.startswith(room) and name in vars(sys.modules[module])]
    texts = [text for home in homes for text in ModuleAnalyzer.for_module(home).find_attr_docs().get(("", name), [])]
    held = value if isinstance(value, Collection) and not isinstance(value, str) else [value]
    held = sorted(held) if isinstance(held, set) else held
    entries = [getattr(one, "__name__", None) or str(one) for one in held]
    entries = [re.sub(r"\b(\w+\.)+(?=\w)", "", entry) for entry in entries]
    return [*_escaped(texts), "", ", ".join(f"``{entry}``" for entry in entries)]


def _opening(room: str) -> str:
    """The first sentence of a room's docstring."""
    return " ".join(_escaped([(importlib.import_module(room).__doc__ or "").split("\n\n")[0].replace("\n", " ")]))


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"


# Docstrings -----------------------------------------------------------------------------------------------------------


def explain(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Our docstrings are plain text with marks; a class's settings say what they mean in its annotations."""
    del app, options
    if what == "class" and not _is_enum(thing):
        with contextlib.suppress(NameError):  # of a type that is imported for type checkers alone
            meanings = {name: f"{setting.meaning}; {setting.range}" for name, setting in settings_of(thing).items()}
            lines += ["", *(f"- **{name}**: {meaning}." for name, meaning in meanings.items()), ""]
        public = importlib.import_module(name.rpartition(".")[0]).__all__
        bases = [base.__name__ for base in thing.__mro__[1:] if base.__name__ in public]
        lines += ["", f"It also has what `{bases[0]}` has.", ""] if bases else []
    lines[:] = _escaped(lines)


def _escaped(lines: Iterable[str]) -> list[str]:
    """Stars of ``*pixels`` and bars of ``|w|`` are themselves, and no marks of reStructuredText."""
    parts = re.split(r"(``.+?``|\*\*.+?\*\*)", "\n".join(lines), flags=re.S)
    parts[::2] = [re.sub(r"\||\*(?=\w)(?!\w[^*\n]*\w\*)", r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts).split("\n")


def short_signature(app: Sphinx, what: str, name: str, thing: Any, *_: Any) -> tuple[str, str] | None:
    """Left as it is; an enum has none, since its values stand below it."""
    del app, what, name
    return ("", "") if _is_enum(thing) else None
