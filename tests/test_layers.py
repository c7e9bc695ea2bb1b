"""The rooms of the package import one another only in the order of the design, and never in a circle."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import localax

ROOT = Path(localax.__file__).parent
FIRST = {"_types", "_math", "_disk", "_progress", "_errors", "_system", "_text", "_worker"}
SCIENCE = FIRST | {"spec", "outcome", "trajectory", "stimuli", "networks", "analysis", "theory", "training"}
ALLOWED: dict[str, set[str]] = {
    "_types": set(),
    "_errors": set(),
    "_system": set(),
    "_progress": set(),
    "_text": set(),
    "_worker": {"_system"},
    "_math": {"_types"},
    "_disk": {"_errors", "_system"},
    "spec": FIRST,
    "outcome": FIRST,
    "trajectory": FIRST,
    "stimuli": FIRST | {"spec"},
    "networks": FIRST | {"spec"},
    "analysis": FIRST | {"outcome", "trajectory"},
    "store": FIRST | {"outcome", "trajectory"},
    "theory": FIRST | {"spec", "trajectory", "stimuli", "networks", "analysis"},
    "training": FIRST | {"spec", "trajectory", "stimuli", "networks"},
    "experiments": SCIENCE,
    "prediction": SCIENCE | {"experiments"},
    "runner": SCIENCE | {"experiments", "prediction", "store"},
    "report": FIRST | {"outcome", "trajectory", "store"},
    "web": SCIENCE | {"experiments", "prediction", "runner", "report", "store"},
}
"""The table of docs/architecture.md. The root and the command line may import everything."""

EVERYTHING = {"__init__", "__main__", "cli", "_commands", "_notebook"}


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


@pytest.mark.slow
def test_rooms_keep_their_order():
    edges = graph(ROOT)
    assert len(edges) > 20
    assert edges["localax.stimuli._copula"] >= {"localax.spec", "localax.stimuli._base"}  # imports are seen at all
    assert breaches(edges) == []


def private_imports(edges: dict[str, set[str]]) -> list[str]:
    """Imports of a private file of another room; the files of the first row belong to all."""
    out = []
    for module, targets in edges.items():
        for target in targets:
            parts = target.split(".")
            hidden = next((i for i, part in enumerate(parts[2:], 2) if part.startswith("_")), None)
            if hidden is None or parts[1].startswith("_"):
                continue
            owner = ".".join(parts[:hidden])
            if not f"{module}.".startswith(f"{owner}."):
                out.append(f"{module} imports {target}")
    return out


@pytest.mark.slow
def test_nothing_private_is_imported_across_rooms():
    assert private_imports(graph(ROOT)) == []


def private_uses(path: Path) -> list[str]:
    """Attributes with an underscore of anything but the object itself, its class and private modules of the room."""
    out = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            out.append(f"{path.name}:{node.lineno} {ast.unparse(node)}")
    return [use for use in out if not re.search(r" (self|cls|os|sys)\._\w+$", use)]


def test_no_private_attribute_of_another_object_is_used():
    found = [use for path in sorted(ROOT.rglob("*.py")) for use in private_uses(path)]
    assert found == []


def test_every_room_and_file_is_in_the_table():
    here = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert here - EVERYTHING == set(ALLOWED)


def test_every_public_name_is_a_room_of_the_table_or_comes_from_one():
    for name in localax.__all__:
        if name != "__version__":
            home = localax._NAMES.get(name, name)
            assert home in ALLOWED | dict.fromkeys(EVERYTHING), name


ROOMS = sorted(
    ".".join(("localax", *path.parent.relative_to(ROOT).parts))
    for path in ROOT.rglob("__init__.py")
    if path.parent not in (ROOT, ROOT / "experiments" / "toolkit")  # whose files are imported one by one
    and not any(part.startswith("_") for part in path.parent.relative_to(ROOT).parts)
)


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_lists_all_its_public_names(name):
    """What a room's front imports is what it offers, and nothing is offered that is not there."""
    path = ROOT.parent.joinpath(*name.split(".")) / "__init__.py"
    tree = ast.parse(path.read_text())
    brought = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
        if not alias.name.startswith("_")
    }
    made = {
        part.id if isinstance(part, ast.Name) else part.name
        for node in tree.body
        for part in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)])
        if isinstance(part, ast.Name | ast.FunctionDef)
    }
    room_ = importlib.import_module(name)
    assert set(room_.__all__) == brought | (made - {"__all__"})
    assert list(room_.__all__) == sorted(room_.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    assert all(hasattr(room_, public) for public in room_.__all__)


def test_the_architecture_page_has_the_same_table():
    page = (ROOT.parents[1] / "docs" / "architecture.md").read_text()
    rows = dict(re.findall(r"^\| `([\w/]+?)/?` \|.*\|([^|]*)\|$", page, flags=re.M))
    written = {room_: set(re.findall(r"`(\w+)", text)) for room_, text in rows.items()}
    rest = {name: names - FIRST for name, names in ALLOWED.items() if name not in FIRST}
    assert written == rest


@pytest.mark.slow
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
    "training/__init__.py": "import localax.stimuli\nfrom ..stimuli import A\n",
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
    "the report asks no science": {"report/__init__.py": "from ..stimuli import A\n"},
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


PRIVATE = {
    "a file of another room": {"training/__init__.py": "from ..stimuli._a import A\n"},
    "absolute": {"training/__init__.py": "from localax.stimuli._a import A\n"},
    "a room inside a room": {
        "theory/__init__.py": "",
        "theory/flows/__init__.py": "",
        "theory/flows/_f.py": "",
        "theory/steady/__init__.py": "from ..flows._f import f\n",
    },
}


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_import_is_found(name, tmp_path):
    root = planted(tmp_path, PRIVATE[name])
    assert len(private_imports(graph(root))) == 1


def test_a_file_of_the_parent_is_not_private(tmp_path):
    files = {"theory/__init__.py": "", "theory/_p.py": "", "theory/flows/__init__.py": "from .._p import f\n"}
    root = planted(tmp_path, files)
    assert private_imports(graph(root)) == []


def test_a_private_use_is_found(tmp_path):
    path = tmp_path / "x.py"
    path.write_text("self._a\nother._b\nself.x._c\n")
    assert [use.split(" ")[1] for use in private_uses(path)] == ["other._b", "self.x._c"]


@pytest.mark.parametrize("name", CIRCLES)
def test_a_circle_is_found(name, tmp_path):
    assert circles(graph(planted(tmp_path, CIRCLES[name])))
