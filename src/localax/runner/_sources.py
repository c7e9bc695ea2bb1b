"""The state of the code, as part of what decides a result: every file of the package that a module imports, hashed.

The files are read once, when this room is first loaded and before it loads the science, so that a result is never
stored under the name of code that was edited while it ran; a worker asks `unchanged` once all is loaded.
"""

import ast
import functools
import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def _read() -> dict[str, bytes]:
    return {_module(path): path.read_bytes() for path in sorted(ROOT.rglob("[!.]*.py"))}


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = _read()
PACKAGES = frozenset(_module(path) for path in ROOT.rglob("__init__.py"))


def unchanged() -> bool:
    """Whether the files are still as they were when this process began."""
    return _read() == SOURCES


@functools.cache
def code_version(module: str) -> str:
    """A name for all code that a module of the package rests on: itself and what it imports, directly or not."""
    digest = hashlib.sha256()
    for name in sorted(_closure(module)):
        digest.update(name.encode() + b"\0" + SOURCES[name] + b"\0")
    return digest.hexdigest()[:16]


def _closure(module: str) -> set[str]:
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name in SOURCES and name not in found:
            found.add(name)
            waiting += _imports(name)
    return found


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    """The modules of the package that a module imports, anywhere in its file, but not for type checkers alone."""
    package = module if module in PACKAGES else module.rpartition(".")[0]
    found = []
    for node in _statements(SOURCES[module].decode()):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            inner = [f"{base}.{alias.name}" for alias in node.names]
            found += [name if name in SOURCES else base for name in inner]
    return tuple(dict.fromkeys(found))


_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)
_NAMES = r"[\w.]+(?: as \w+)?(?:, [\w.]+(?: as \w+)?)*"
_IMPORT = re.compile(rf"^[ \t]*((?:from [\w.]+ )?import (?:\([^)]*\)|{_NAMES}))", re.MULTILINE)


def _statements(source: str) -> list[ast.stmt]:
    """The imports in a file. To parse all of it would take a fifth of a second for those of a training run."""
    return ast.parse("\n".join(_IMPORT.findall(_FOR_TYPES.sub("", source)))).body
