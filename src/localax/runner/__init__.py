"""Run or load: units of work, named by what decides them, on one executor or another; what is finished is stored."""

# First of all, before the science is loaded: the state of its files.
from . import _sources  # noqa: F401  # isort: skip
from ._dask import Dask, DaskCluster
from ._executors import AbstractExecutor, ThisProcess
from ._experiments import ExperimentUnit, experiment_unit, experiment_units, load_outcome
from ._forget import stale
from ._on import PLACES, SlurmSettings, executor_of
from ._own import OwnData, in_words
from ._processes import Processes
from ._run_or_load import Results, reproduce, run_or_load, run_with_board
from ._sweep import (
    SweepPlan,
    SweepUnit,
    Swept,
    count_diverged,
    default_out,
    run_sweep,
    sweep,
    sweep_figure,
    sweep_plan,
    write_csv,
    write_table,
)
from ._training import (
    STANDARD,
    TrainingSettings,
    TrainingUnit,
    completed_stimulus,
    task_of,
    training_settings,
    training_unit,
    typed_training,
)
from ._unit import AbstractUnit

__all__ = [
    "PLACES",
    "STANDARD",
    "AbstractExecutor",
    "AbstractUnit",
    "Dask",
    "DaskCluster",
    "ExperimentUnit",
    "OwnData",
    "Processes",
    "Results",
    "SlurmSettings",
    "SweepPlan",
    "SweepUnit",
    "Swept",
    "ThisProcess",
    "TrainingSettings",
    "TrainingUnit",
    "completed_stimulus",
    "count_diverged",
    "default_out",
    "executor_of",
    "experiment_unit",
    "experiment_units",
    "in_words",
    "load_outcome",
    "reproduce",
    "run_or_load",
    "run_sweep",
    "run_with_board",
    "stale",
    "sweep",
    "sweep_figure",
    "sweep_plan",
    "task_of",
    "training_settings",
    "training_unit",
    "typed_training",
    "write_csv",
    "write_table",
]
