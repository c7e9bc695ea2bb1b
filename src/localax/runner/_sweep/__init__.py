"""Sweeps: a design (what varies), a plan (units that share compiled programs), units, and one labelled result."""

from ._picture import sweep_figure
from ._plan import SweepPlan
from ._sweep import Swept, default_out, run_sweep, sweep, sweep_plan
from ._table import count_diverged, write_csv, write_table
from ._unit import WORKS, SweepUnit

__all__ = [
    "WORKS",
    "SweepPlan",
    "SweepUnit",
    "Swept",
    "count_diverged",
    "default_out",
    "run_sweep",
    "sweep",
    "sweep_figure",
    "sweep_plan",
    "write_csv",
    "write_table",
]
