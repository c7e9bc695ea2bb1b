"""Sweeps: a design (what varies), a plan (units that share compiled programs), units, and one labelled result."""

from ._sweep import Swept, default_out, run_sweep, sweep, sweep_plan
from ._unit import SweepUnit, work_of

__all__ = ["SweepUnit", "Swept", "default_out", "run_sweep", "sweep", "sweep_plan", "work_of"]
