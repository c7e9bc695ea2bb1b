"""``lx.sweep``: from a file to one labelled result, doing only what is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._disk import StrPath, refuse_unwritable
from ..._errors import SettingError, one_line
from ..._progress import sweep_bar
from ...store import Store
from .._executors import AbstractExecutor
from .._on import executor_of
from .._run_or_load import Results, run_or_load
from .._unit import AbstractUnit
from ._design import read_design
from ._plan import SweepPlan, plan_sweep
from ._result import fingerprint, is_current, write_result

if TYPE_CHECKING:
    import xarray

RESULT = "sweep.nc"
FOLDER = "localax-sweeps"


@dataclass(frozen=True)
class Swept:
    """What came of a sweep."""

    plan: SweepPlan
    """Its units."""
    results: Results
    """Which of them are stored, and which failed."""
    path: Path
    """The file of the result."""

    @property
    def troubles(self) -> list[str]:
        """One line for each unit that failed: its settings and its error."""
        titles = {unit.name: unit.title for unit in self.plan.units}
        last = {name: why.strip().splitlines()[-1] for name, why in self.results.failed.items()}
        return [one_line(f"{titles[name]}: {line}") for name, line in last.items()]


def sweep_plan(source: StrPath | Mapping[str, Any], pairs: Sequence[str] = ()) -> SweepPlan:
    """The units of a sweep, planned and checked but not run.

    **source**: a file in TOML, or its tables as data. **pairs**: ``a.b=value``, settings in place of the file's.
    """
    return plan_sweep(read_design(source, pairs))


def run_sweep(
    plan: SweepPlan,
    *,
    on: str | AbstractExecutor = "processes",
    out: StrPath,
    store: StrPath | None = None,
    fresh: bool = False,
    progress: bool = True,
) -> Swept:
    """Run what is missing of a **plan**, and write the result to the folder **out**.

    **on**: the executor, or a word for one, whose options stand in the file. **store**: the folder of units.
    **fresh**: run what is stored too. **progress**: show how far it is.
    """
    shelf, path = Store(store), Path(out) / RESULT
    executor = executor_of(on, plan.design.options.get(on)) if isinstance(on, str) else on
    for folder in (path.parent, shelf.root):
        refuse_unwritable(folder)
    networks = {piece.unit.name: piece.networks for piece in plan.pieces if fresh or not shelf.marked(piece.unit.name)}
    plan.try_out(networks)
    with sweep_bar(networks, show=progress) as update:

        def watch(unit: AbstractUnit, fraction: float) -> None:
            update(unit.name, fraction, fraction >= 1 and not shelf.marked(unit.name))

        results = run_or_load(plan.units, shelf, executor, watch, fresh=fresh)
    stored = {unit.name for unit in results.stored}
    if not stored:
        first = next(iter(results.failed.values()))
        raise SettingError(f"sweep: every unit failed, the first one so: {first.strip().splitlines()[-1]}")
    if results.failed or stored - results.loaded or not is_current(path, fingerprint(plan)):
        write_result(plan, shelf, stored, path)
    return Swept(plan, results, path)


def default_out(source: StrPath | Mapping[str, Any], plan: SweepPlan) -> Path:
    """Where the result of a **plan** goes if nobody says so: a folder called like its **source**, or like its hash."""
    return Path(FOLDER, fingerprint(plan) if isinstance(source, Mapping) else Path(source).stem)


def sweep(
    source: StrPath | Mapping[str, Any],
    *,
    on: str = "processes",
    out: StrPath | None = None,
    store: StrPath | None = None,
    fresh: bool = False,
    progress: bool = True,
) -> "xarray.Dataset":
    """Train, or follow a flow or an experiment, under many settings; one labelled result, opened lazily.

    **source**: a file of settings in TOML with a table ``[sweep]``, or the same tables as data. **on**: where it runs.
    **out**: the folder of the result, ``localax-sweeps/NAME`` unless given. **store**: the folder of units, by default
    ``localax-results``; what is there already is not run again. **fresh**: run it anyway. **progress**: show how far
    it is. Units that fail leave NaN, and the Dataset's attribute ``failed`` says why.
    """
    import xarray

    plan = sweep_plan(source)
    swept = run_sweep(plan, on=on, out=out or default_out(source, plan), store=store, fresh=fresh, progress=progress)
    data = xarray.open_dataset(swept.path)
    return data.assign_attrs(failed=swept.troubles) if swept.troubles else data
