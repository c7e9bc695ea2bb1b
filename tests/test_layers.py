"""The rooms of the package import one another only in the order of the design, and never in a circle."""

import ast
from pathlib import Path

import pytest

import localax

ROOT = Path(localax.__file__).parent
FIRST = {"_types", "_math", "_trajectory", "_record", "_settings", "_progress", "_disk"}
ABOVE = {
    "stimuli": FIRST,
    "networks": FIRST,
    "analysis": FIRST,
    "store": {"_record", "_trajectory", "_settings", "_disk"},
    "theory": FIRST | {"stimuli", "networks", "analysis"},
    "training": FIRST | {"stimuli", "networks", "store"},
}
SCIENCE = FIRST | {"stimuli", "networks", "analysis", "theory", "training"}
ALLOWED: dict[str, set[str]] = {
    "_types": set(),
    "_settings": set(),
    "_disk": set(),
    "_record": {"_disk"},
    "_progress": set(),
    "_math": {"_types"},
    "_trajectory": {"_disk"},
    **ABOVE,
    "experiments": SCIENCE,
    "prediction": SCIENCE | {"experiments"},
    "runner": FIRST | {"experiments", "prediction", "training", "theory", "store"},
    "report": FIRST | {"store"},
    "web": SCIENCE | {"experiments", "prediction", "runner", "report", "store"},
}
"""DESIGN.md's table. The root and the command line may import everything."""

EVERYTHING = {"__init__", "__main__", "cli", "_notebook"}


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imported(path: Path, root: Path, modules: set[str]) -> set[str]:
    """The modules of the package that a file imports, anywhere in it; imports for type checkers alone do not count."""
    found: set[str] = set()
    package = module_name(path, root) if path.name == "__init__.py" else module_name(path, root).rpartition(".")[0]

    def add(base: str, names: list[str]) -> None:
        for name in names:
            full = f"{base}.{name}"
            if full != f"{root.name}.__version__":  # a constant of the root, which loads nothing
                found.add(full if full in modules else base)

    def visit(node: ast.AST) -> None:
        if for_types_only(node):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            add(".".join([*up, *([node.module] if node.module else [])]), [alias.name for alias in node.names])
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found.update(a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text()))
    return {name for name in found if name == root.name or name.startswith(f"{root.name}.")}


def graph(root: Path) -> dict[str, set[str]]:
    files = sorted(root.rglob("*.py"))
    modules = {module_name(path, root) for path in files}
    return {module_name(path, root): imported(path, root, modules) for path in files}


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def breaches(edges: dict[str, set[str]]) -> list[str]:
    """Imports between rooms that the table does not allow, and rooms that it does not know."""
    out = []
    for module, targets in edges.items():
        here = room(module)
        if here in EVERYTHING:
            continue
        if here not in ALLOWED:
            out.append(f"{module}: no such room in the table")
            continue
        out += [
            f"{module} imports {target}"
            for target in sorted(targets)
            if room(target) != here and room(target) not in ALLOWED[here]
        ]
    return out


def circles(edges: dict[str, set[str]]) -> list[str]:
    """Every module from which imports lead back to itself."""
    out = []
    for start in edges:
        seen, queue = set(), [start]
        while queue:
            for target in edges.get(queue.pop(), set()):
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        if start in seen:
            out.append(start)
    return out


def test_rooms_keep_their_order():
    edges = graph(ROOT)
    assert len(edges) > 20
    assert edges["localax.stimuli._copula"] >= {"localax._settings", "localax.stimuli._base"}  # imports are seen at all
    assert breaches(edges) == []


def test_no_circle_of_imports():
    assert circles(graph(ROOT)) == []


def test_the_table_is_itself_in_order():
    """What a room may import may not, by any way, import the room."""
    assert (
        circles({f"localax.{name}": {f"localax.{other}" for other in others} for name, others in ALLOWED.items()}) == []
    )


# That these tests can fail --------------------------------------------------------------------------------------------

GOOD = {
    "__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import stimuli\n",
    "_types.py": "import numpy as np\n",
    "_math.py": "from ._types import Array\n",
    "stimuli/__init__.py": "from ._a import A\nfrom ._b import B\n",
    "stimuli/_a.py": "from .._math import f\n",
    "stimuli/_b.py": "from ._a import A\nfrom .. import _math\n",
    "training/__init__.py": "import localax.stimuli\nfrom ..stimuli import A\nfrom localax.stimuli._a import A\n",
    "cli.py": "def main():\n    from .training import train\n",
}
BAD_ORDER = {
    "up": {"stimuli/_a.py": "from ..training import train\n"},
    "up, absolute": {"stimuli/_a.py": "import localax.training\n"},
    "up, from the root": {"stimuli/_a.py": "from localax import training\n"},
    "up, by two dots": {"stimuli/_a.py": "from .. import training\n"},
    "up, inside a function": {"_math.py": "def f():\n    from .stimuli import A\n"},
    "up, by name": {"stimuli/_a.py": "import importlib\nimportlib.import_module('localax.training')\n"},
    "sideways": {"analysis/__init__.py": "from ..stimuli import A\n"},
    "the root": {"stimuli/_a.py": "from .. import Task\n"},
    "first row": {"_types.py": "from ._math import f\n", "_math.py": ""},
    "an unknown room": {"attic/__init__.py": ""},
}
CIRCLES = {
    "two files": {"stimuli/_a.py": "from ._b import B\n"},
    "inside a function": {"stimuli/_a.py": "def f():\n    from ._b import B\n"},
    "through the room": {"stimuli/_a.py": "from . import B\n"},
    "itself": {"_math.py": "from ._math import g\n"},
}


def planted(folder: Path, files: dict[str, str]) -> Path:
    for name, text in (GOOD | files).items():
        path = folder / "localax" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "localax"


def test_a_good_tree_passes(tmp_path):
    edges = graph(planted(tmp_path, {}))
    assert edges["localax.stimuli._b"] == {"localax.stimuli._a", "localax._math"}
    assert breaches(edges) == []
    assert circles(edges) == []


@pytest.mark.parametrize("name", BAD_ORDER)
def test_a_breach_is_found(name, tmp_path):
    found = breaches(graph(planted(tmp_path, BAD_ORDER[name])))
    assert len(found) == 1
    assert next(iter(BAD_ORDER[name])).split("/")[0].removesuffix(".py") in found[0]


@pytest.mark.parametrize("name", CIRCLES)
def test_a_circle_is_found(name, tmp_path):
    assert circles(graph(planted(tmp_path, CIRCLES[name])))
