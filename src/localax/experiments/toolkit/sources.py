"""The documents that claims cite, as in ``f"{PAPER}, section 4.1"``; `localax.outcome.SOURCES` says what they are."""

from ...outcome import SOURCES

PAPER, NETWORKS, OLDER, BEHAVIOUR, SINGLE, DERIVED = SOURCES
