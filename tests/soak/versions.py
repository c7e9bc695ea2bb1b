"""The quick tests with other versions of Python and of what Localax needs, each in an environment of its own.

``python tests/soak/versions.py`` takes all of `TRIED` in turn, ``... 3.13 highest tests/test_cli.py`` one of them, with
words for pytest. They are made anew each time in ``.versions``, where what tests compile serves the next time.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

TOP = Path(__file__).parents[2]
UV = Path(sysconfig.get_path("scripts")) / "uv"
TRIED = (("3.11", "lowest-direct"), ("3.12", "highest"), ("3.13", "highest"))
"""Pythons, and which of the versions that pyproject.toml allows: the oldest it names, or the newest there are."""
QUICK = ("-m", "not slow", "-q")


def environment(python: str, resolution: str, folder: Path) -> bool:
    """Make a **folder** with this Python and the package with all that its tests need; False without such a Python."""
    make = [UV, "venv", "--quiet", "--clear", "--no-python-downloads", "--python", python, folder]
    if subprocess.run(make, check=False, env={**os.environ, "PATH": _path()}).returncode:
        return False
    install = [UV, "pip", "install", "--quiet", "--python", folder / "bin" / "python", "--resolution", resolution]
    subprocess.run([*install, "-e", f"{TOP}[test]"], check=True)
    return True


def _path() -> str:
    """The path with every Python of pyenv on it, which itself shows one at a time."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return os.pathsep.join([os.environ["PATH"], *map(str, sorted(root.glob("versions/*/bin")))])


def quick_tests(folder: Path, words: tuple[str, ...]) -> int:
    """The exit code of the quick tests in an environment, with a store and compiled programs that only it uses."""
    own = {"JAX_COMPILATION_CACHE_DIR": f"{folder}-compiled", "LOCALAX_TEST_STORE": f"{folder}-store"}
    command = [folder / "bin" / "python", "-m", "pytest", "-p", "no:cacheprovider", *QUICK, *words]
    return subprocess.run(command, check=False, cwd=TOP, env={**os.environ, **own}).returncode


def tried(python: str, resolution: str, *words: str) -> bool:
    """Whether the quick tests pass, or there is no such Python here; says which."""
    folder = TOP / ".versions" / f"{python}-{resolution}"
    there = environment(python, resolution, folder)
    code = quick_tests(folder, words) if there else 0
    said = f"exit code {code}" if there else "not tried: uv finds no such Python here"
    sys.stdout.write(f"Python {python}, {resolution}: {said}\n")
    sys.stdout.flush()
    return code == 0


def main(*words: str) -> None:
    passed = [tried(*one) for one in ([words] if words else TRIED)]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
