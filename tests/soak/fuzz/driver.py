"""Gives a target its inputs, one by one, and says what comes of each: accepted, refused in one line, or a defect."""

import abc
import dataclasses
import hashlib
import json
import os
import resource
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import hypothesis
import jax
from hypothesis import strategies as st

from localax._errors import SettingError
from localax._system import resident

from .watch import LARGEST, LONGEST, Files, TooLong, limited, peak, stopwatch

COUNT = 10_000
"""Inputs to each target."""
LINE = 1000
"""Characters of a refusal at most: more is no line that anybody reads."""
MEMORY = 2 * 2**30
"""Bytes that the package is told this machine has."""
MOST = 6 * 2**30
"""Bytes that the process is given: enough to be seen to take too much, and not so much that others suffer."""
SAVED = 3
"""Inputs that are kept of each defect."""
FULL = 1.5e9
"""Bytes from which on compiled programs are forgotten: they add up over thousands of inputs, and are nobody's fault."""

files = Files()


class Refused(Exception):
    """How a target says that an input was refused, where that is no `SettingError`: the line."""


class Defect(Exception):
    """How a target says that an answer is none."""


class AbstractTarget(abc.ABC):
    """Something that takes input from outside."""

    name: str

    @abc.abstractmethod
    def inputs(self) -> st.SearchStrategy:
        """What is given to it: JSON's types, and bytes."""

    def made(self, drawn: Any) -> Any:
        """The input that was **drawn**; hypothesis remembers all that it draws, so that large ones are made here."""
        return drawn

    @contextmanager
    def opened(self, folder: Path) -> Iterator[None]:
        """Make ready, in a **folder** that is all it may write to."""
        self.folder = folder
        yield

    @abc.abstractmethod
    def take(self, given: Any) -> None:
        """Do with an input what a user would; return if it was accepted, raise `SettingError` or `Refused` if not."""


@dataclasses.dataclass
class Tally:
    """What came of all inputs to a target."""

    name: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    defects: int = 0
    longest: float = 0.0
    peak: int = 0
    kinds: dict[str, int] = dataclasses.field(default_factory=dict)
    """What went wrong, and how often."""

    def __str__(self) -> str:
        counts = (
            f"{self.inputs:6d} inputs {self.accepted:6d} accepted {self.refused:6d} refused {self.defects:4d} defects"
        )
        return f"{self.name:<16}{counts}   longest {self.longest:5.2f} s   peak {self.peak / 2**20:5.0f} MB"


def fuzz(target: AbstractTarget, count: int, *, seed: int, keep: Path) -> Tally:
    """Give a **target** so many inputs, drawn with a **seed**; inputs that show a defect, or take
    half as long as they may, go to the folder **keep**."""
    tally = Tally(target.name)

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, phases=[hypothesis.Phase.generate], database=None, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(target.inputs())
    def each(drawn: Any) -> None:
        if tally.inputs < count:
            _note(tally, target, drawn, keep)

    with standing(target):
        each()
    return tally


@contextmanager
def standing(target: AbstractTarget) -> Iterator[None]:
    """A **target** made ready in a folder inside of one that is watched; temporary files go there too."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as outer:
        inside = Path(outer, "inside")
        (inside / "tmp").mkdir(parents=True)
        before, tempfile.tempdir = tempfile.tempdir, str(inside / "tmp")
        resource.setrlimit(resource.RLIMIT_DATA, (MOST, MOST))
        try:
            _cache().mkdir(parents=True, exist_ok=True)  # else a file is tried in the folder above it
            with mock.patch("os.sysconf", _smaller), target.opened(inside):
                files.around(Path(outer), inside, _cache())
                peak(afresh=True)
                yield
        finally:
            tempfile.tempdir = before


def _smaller(name: str, ask: Callable[[str], int] = os.sysconf) -> int:
    """What the system says of itself, but for its memory: what fits into that is allowed, so it must be little."""
    return MEMORY // ask("SC_PAGE_SIZE") if name == "SC_PHYS_PAGES" else ask(name)


def _cache() -> Path:
    """Where JAX keeps what it compiles."""
    return Path(os.environ["JAX_COMPILATION_CACHE_DIR"])


def _note(tally: Tally, target: AbstractTarget, drawn: Any, keep: Path) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    at_hand = keep / f"{target.name.replace(' ', '-')}.at-hand.json"  # what a crash of all leaves behind
    at_hand.write_text(to_text(drawn))
    given, spent, trouble = target.made(drawn), stopwatch(), ""
    try:
        judged(target, given)
        tally.accepted += 1
    except (SettingError, Refused):
        tally.refused += 1
    except Defect as error:
        trouble = str(error)
    at_hand.unlink()
    seconds = spent()
    tally.inputs += 1
    tally.longest, tally.peak = max(tally.longest, seconds), max(tally.peak, peak())
    if seconds > LONGEST / 2:
        _save(target, given, f"no defect, but {seconds:.1f} seconds", keep)
    if trouble:
        tally.defects += 1
        kind = trouble.splitlines()[0]
        tally.kinds[kind] = tally.kinds.get(kind, 0) + 1
        if tally.kinds[kind] <= SAVED:
            _save(target, given, trouble, keep)
    if resident() > FULL:
        jax.clear_caches()


def judged(target: AbstractTarget, given: Any) -> None:
    """Give one input; whatever is neither an answer nor a refusal in one line is a `Defect`."""
    high = peak()
    with warnings.catch_warnings(record=True) as warned, files.heard() as strange:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # nobody is shown it, and it is of an input before this
        try:
            with limited():
                target.take(given)
            refusal = None
        except (SettingError, Refused) as error:
            refusal = error
        except Defect:
            raise
        except TooLong as error:
            raise Defect(f"takes too long {_where(error)}") from error
        except Exception as error:
            raise Defect(f"{type(error).__name__}: {str(error)[:80]!r} {_where(error)}") from error
    if strange:
        raise Defect(f"reaches out: {strange[0]}")
    if (now := peak()) > max(high, LARGEST):
        raise Defect(f"takes {now / 2**30:.1f} GB")
    if refusal is not None:
        _check_line(str(refusal), [str(one.message) for one in warned])
        raise refusal


def _check_line(line: str, warned: list[str]) -> None:
    if not line.strip() or len(line.splitlines()) != 1 or len(line) > LINE:
        raise Defect(f"refused in {len(line.splitlines())} lines of {len(line)} characters: {line[:80]!r}")
    if warned:
        raise Defect(f"refused, and a warning beside it: {warned[0][:80]!r}")


def _where(error: BaseException) -> str:
    """The last line of ours that an error came through, and then all of it for whoever reads on."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "localax" in Path(frame.filename).parts]
    at = f"in {Path(frames[-1].filename).name}:{frames[-1].name}" if frames else ""
    return f"{at}\n{''.join(traceback.format_exception(error))}"


# Inputs that are kept -------------------------------------------------------------------------------------------------


def _save(target: AbstractTarget, given: Any, trouble: str, keep: Path) -> None:
    text = to_text({"target": target.name, "input": given, "trouble": trouble})
    name = f"{target.name.replace(' ', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    (keep / name).write_text(text)


def to_text(value: Any) -> str:
    """JSON, with bytes in it."""
    return json.dumps(value, default=lambda data: {"__bytes__": data.hex()}, indent=1)


def from_text(text: str) -> Any:
    return json.loads(text, object_hook=lambda d: bytes.fromhex(d["__bytes__"]) if "__bytes__" in d else d)
