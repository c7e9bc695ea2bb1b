"""Results on disk: one folder per run, named by a hash of the settings that made it.

A folder has its ``run.json`` only when it is complete, so "it is there" means "it is done". Everything inside
is JSON, ``.npz`` and whatever files the caller adds; nothing is pickled and there is no database, so folders
can be copied, synchronised and deleted with the tools of the system.
"""

from ._run import Run, Skipped, spec_hash
from ._store import Listing, Store

__all__ = ["Listing", "Run", "Skipped", "Store", "spec_hash"]
