"""Run or load: experiments side by side, one process a core; what is finished is in the store."""

from ._reproduce import chosen, identity, reproduce, run_or_load
from ._workers import cores

__all__ = ["chosen", "cores", "identity", "reproduce", "run_or_load"]
