"""What is put where something else belongs: odd values, changed tables, spoilt bytes."""

import copy
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

SEEDS = st.integers(0, 2**32 - 1)
"""Of `random.Random`, which makes bytes; hypothesis makes what has a structure."""

WORDS = (
    "", " ", ".", "..", "nan", "inf", "-inf", "1e999", "-1", "0", "1,2", ",", "true", "None", "null", "NLGP", "kind",
    "é" * 40, "名前", "a\nb", "a\x00b", "\x1b[31m", "\u202e", "a" * 3000, "9" * 5000, "{}", "[1]", "%s%n", "'\"", "--",
    "-", "1_000", "0x10", "１２", "e", "1e400", "٣",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 3, 2**31 - 1, 2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 0.0, -0.0, 0.5, 1e-300, 5e-324, 1e308,
    -1e308, math.nan, math.inf, -math.inf, 1e9, 10**6, 10**9,
)  # fmt: skip


def deep(depth: int) -> Any:
    """Tables and lists inside of each other."""
    value: Any = 1
    for i in range(depth):
        value = [value] if i % 2 else {"stimulus": value, "kind": "GaussianClone"}
    return value


# Slashes are left to those who know where they lead.
texts = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/~"), max_size=12)
scalars = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.floats() | st.integers(-5, 50) | texts
anything = st.recursive(
    st.one_of(*[scalars] * 8, st.sampled_from((10, 120)).map(deep)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
"""Any JSON value, and numbers that JSON has no word for."""


def paths(table: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All that can be replaced in nested data: keys and places that lead there."""
    pairs = table.items() if isinstance(table, Mapping) else enumerate(table) if isinstance(table, list) else ()
    for key, value in pairs:
        yield (*before, key)
        yield from paths(value, (*before, key))


@st.composite
def changed(draw: Callable, tables: st.SearchStrategy, names: tuple[str, ...] = ()) -> Any:
    """Tables in which up to three things are another value, gone, or new under one of some **names**."""
    table = copy.deepcopy(draw(tables))
    for _ in range(draw(st.integers(0, 3))):
        places = list(paths(table))
        how = draw(st.sampled_from(("other", "other", "other", "gone", "new", "wrapped"))) if places else "new"
        path = draw(st.sampled_from(places)) if places else ()
        _change(table, path, how, draw, names)
    return table


def _change(table: Any, path: tuple[Any, ...], how: str, draw: Callable, names: tuple[str, ...]) -> None:
    place = table
    for key in path[:-1]:
        place = place[key]
    if how == "new" or not path:
        spot = place if isinstance(place, dict) else table
        spot[draw(st.sampled_from(names) if names else texts)] = draw(anything)
    elif how == "gone":
        del place[path[-1]]
    else:
        place[path[-1]] = draw(anything) if how == "other" else [copy.deepcopy(place[path[-1]])]


# Bytes ----------------------------------------------------------------------------------------------------------------


def spoilt(data: bytes, seed: int) -> bytes:
    """The bytes with some harm done: bits flipped, pieces cut out, doubled or overwritten, or others altogether."""
    draw, out = random.Random(seed), bytearray(data)
    for _ in range(draw.choice((0, 1, 1, 1, 2, 4, 16))):
        HARMS[draw.randrange(len(HARMS))](out, draw)
    return bytes(out)


def _flip(out: bytearray, draw: random.Random) -> None:
    if out:
        out[_place(out, draw)] ^= 1 << draw.randrange(8)


def _cut(out: bytearray, draw: random.Random) -> None:
    del out[_place(out, draw) :]


def _drop(out: bytearray, draw: random.Random) -> None:
    start = _place(out, draw)
    del out[start : start + draw.randrange(1, 64)]


def _double(out: bytearray, draw: random.Random) -> None:
    start = _place(out, draw)
    out[start:start] = out[start : start + draw.randrange(1, 256)]


def _overwrite(out: bytearray, draw: random.Random) -> None:
    """Numbers of files are often four or eight bytes: small, large and negative ones."""
    start = _place(out, draw)
    piece = draw.choice(
        (draw.randbytes(4), b"\xff" * 4, b"\xff" * 8, bytes(8), b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f")
    )
    out[start : start + len(piece)] = piece


def _noise(out: bytearray, draw: random.Random) -> None:
    out[:] = draw.randbytes(draw.choice((0, 1, 16, 300, 3000)))


def _place(out: bytearray, draw: random.Random) -> int:
    """Anywhere, the head more often: that is where files say what they are."""
    return draw.randrange(max(1, min(len(out), draw.choice((64, 512, len(out) or 1)))))


HARMS = (_flip, _flip, _flip, _overwrite, _overwrite, _cut, _drop, _double, _noise)


# TOML -----------------------------------------------------------------------------------------------------------------


def toml(tables: Mapping[str, Any]) -> bytes:
    """Tables as a file; what TOML has no word for is left out."""
    lines = [f"{_quoted(name)} = {_toml(value)}" for name, value in tables.items() if value is not None]
    return "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(k)} = {_toml(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value if item is not None) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "")
