"""The lab: a page on which one moves a slider, watches a field form and sees theory beside it.

    page ──► Guard ──► routes ──► Lab ──► Run, Job ──► a process each ──► events ──► page

The server checks, queues and passes on; what is computed is computed in processes of its own, so that the page is
answered while it trains. What the page offers is data made from the annotations of the classes themselves.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._serve import serve

__all__ = ["serve"]


def __getattr__(name: str) -> Any:
    """The server when it is asked for: the processes that it starts have no use for it, and begin a third sooner."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _serve

    return _serve.serve
