"""Results on disk: one folder per result, named by a hash of what decides it.

A folder's ``run.json`` names the files that count and is written last and at one stroke, so "it is there" means "it is
done", and putting a new one in its place is a swap that nobody can see halfway. Everything inside is JSON, ``.npz`` and
whatever files the caller adds; nothing is pickled and there is no database, so folders can be copied, synchronised and
deleted with the tools of the system.
"""

from ._run import Run, Runs, Unfinished, identity_hash
from ._store import TRAJECTORY, Listing, Store

__all__ = ["TRAJECTORY", "Listing", "Run", "Runs", "Store", "Unfinished", "identity_hash"]
