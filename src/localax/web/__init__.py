"""The lab: a page on which one moves a slider, watches a field form and sees theory beside it.

    page ──► Guard ──► routes ──► Lab ──► Run, Job ──► a process each ──► events ──► page

The server checks, queues and passes on; what is computed is computed in processes of its own, so that the page is
answered while it trains. What the page offers is data made from the annotations of the classes themselves.
"""

from ._serve import serve

__all__ = ["serve"]
