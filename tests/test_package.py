"""The package as a whole: light to import, pinned without addresses, and an API one level deep."""

import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import localax

ROOT = Path(localax.__file__).parent
TOP = Path(__file__).parents[1]
ROOMS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if not path.parent.name.startswith("_"))
HEAVY = ("jax", "jaxlib", "numpy", "scipy", "matplotlib", "equinox", "pydantic", "xarray", "sklearn", "skimage")


def loaded_by(code: str) -> set[str]:
    """The top-level packages in memory after a piece of code has run in a fresh Python."""
    script = f"{code}\nimport sys\nprint(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_import_is_light():
    loaded = loaded_by("import localax")
    assert "localax" in loaded
    assert not loaded & set(HEAVY)


def test_asking_what_there_is_stays_light():
    assert not loaded_by("import localax; dir(localax); localax.__version__") & set(HEAVY)


def test_a_room_loads_when_it_is_used():
    assert "jax" in loaded_by("import localax as lx; lx.stimuli.Ising")  # so that the tests above mean something


TRAINED = """
import localax as lx
task = lx.Task([lx.stimuli.NLGP(20, xi, 3) for xi in (1, 2)], [0, 1])
lx.train(task, lx.networks.SingleReLU(), steps=1, batch=10, rate=0.1, progress=False)
import localax.runner
"""


@pytest.mark.slow
def test_training_loads_neither_theory_nor_what_draws():
    loaded = loaded_by(TRAINED)
    assert {"jax", "scipy", "pydantic"} <= loaded
    assert not loaded & {"diffrax", "optimistix", "matplotlib", "jinja2", "xarray", "sklearn", "skimage"}


def test_names_of_the_root():
    assert set(dir(localax)) == set(localax.__all__)
    for name in ("stimuli", "Task", "Trajectory", "SettingError", "outcome"):
        assert getattr(localax, name) is not None
    assert localax.Task is localax.stimuli.Task
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        localax.nonsense  # noqa: B018


# Pins -----------------------------------------------------------------------------------------------------------------


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(text: str) -> dict[str, str]:
    """Names and exact versions; a name may come twice, for different Pythons."""
    lines = [
        line.split(";")[0].strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")
    ]
    matches = [re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([0-9][\w.+!]*)", line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    return {canonical(match[1]): match[2] for match in matches if match}


def test_pins_are_exact_and_name_no_address():
    text = (TOP / "constraints.txt").read_text()
    assert "://" not in text
    assert " @ " not in text
    assert "--" not in text  # no index, no hash
    assert len(pinned(text)) > 30


def test_every_dependency_is_pinned():
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {canonical(re.match(r"[A-Za-z0-9._-]+", requirement)[0]) for requirement in wanted}  # type: ignore[index]
    assert "jax" in names
    assert names - {"localax"} <= set(pinned((TOP / "constraints.txt").read_text()))  # extras name each other


def test_every_dependency_has_a_lowest_version():
    """Without one, the oldest that was ever published is allowed; ``tests/soak/versions.py`` tries those named."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name != "check"}
    wanted = [*project["dependencies"], *(d for extra in extras.values() for d in extra)]
    assert [one for one in wanted if not re.search(r"[>=]=\d|^localax\[", one)] == []


def test_the_build_backend_is_pinned():
    build = tomllib.loads((TOP / "pyproject.toml").read_text())["build-system"]
    assert all("==" in requirement for requirement in build["requires"])


@pytest.mark.parametrize("name", ["Makefile", "pyproject.toml", ".ci/run"])
def test_no_registry_address(name):
    text = (TOP / name).read_text()
    for sign in ("://", "--index-url", "--extra-index-url", "--find-links", "pypi.org", "index-url"):
        assert sign not in text.replace("--no-emit-index-url", "")


def test_bad_pins_are_found():
    with pytest.raises(AssertionError, match="jax>=1"):
        pinned("numpy==2.0\njax>=1\n")
    assert pinned("# a note\nScikit_Learn==1.6.1 ; python_version < '3.12'\n    # via x\n") == {"scikit-learn": "1.6.1"}


# The API --------------------------------------------------------------------------------------------------------------


def public(room: str) -> ModuleType:
    return importlib.import_module(f"localax.{room}")


INNER = {"theory": {"flows", "gates", "hypercube", "sigmoid", "steady", "windows"}}
"""Rooms inside rooms: theory is large, and few of its names are for everybody."""
OPEN = "experiments"
"""The room whose files people open by name; its chapters hold one file per figure or question."""


@pytest.mark.parametrize("room", [room for room in ROOMS if room != OPEN])
def test_every_name_of_a_room_resolves_and_comes_from_a_private_file(room):
    module = public(room)
    assert len(set(module.__all__)) == len(module.__all__)
    inner = {name for name in module.__all__ if isinstance(getattr(module, name), ModuleType)}
    assert inner == INNER.get(room, set()), f"{room} has modules among its names: the API is one level deep"
    for name in set(module.__all__) - inner:
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            place = thing.__module__
            assert re.match(r"localax(\.\w+){0,2}\._\w+", place), f"{room}.{name} lives in {place}"


@pytest.mark.parametrize("room", [room for room in ROOMS if room != OPEN])
def test_files_of_a_room_are_private(room):
    names = {path.stem for path in (ROOT / room).rglob("*.py")} - {"__init__", "__main__"}
    assert all(name.startswith("_") for name in names), names


@pytest.mark.parametrize("room", [room for room in ROOMS if room != OPEN])
def test_members_of_all_tuples_are_exported(room):
    module = public(room)
    for tuple_name in (name for name in module.__all__ if name.isupper()):
        members = getattr(module, tuple_name)
        if isinstance(members, tuple) and all(inspect.isclass(member) for member in members):
            assert len(set(members)) == len(members)
            for member in members:
                assert getattr(module, member.__name__, None) is member, f"{room}.{tuple_name} has {member.__name__}"
                assert member.__name__ in module.__all__


def test_stimuli_have_their_tuples():
    module = public("stimuli")
    assert {"ALL", "MARGINALS", "COVARIANCES", "RADIALS"} <= set(module.__all__)
    concrete = {
        cls
        for cls in vars(module).values()
        if inspect.isclass(cls) and issubclass(cls, module.AbstractStimulus) and not cls.__name__.startswith("Abstract")
    }
    assert concrete == set(module.ALL)  # a stimulus left out of ALL would be left out of every test
