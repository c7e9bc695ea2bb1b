"""A mistake of ours: the page is told that there was one, the terminal where."""

import sys
import traceback
from pathlib import Path

SORRY = "a mistake of ours, sorry; the lab's terminal says where"


def tell_where(error: Exception) -> None:
    """The place of a mistake of ours, on the error stream; not its words, which may hold a path or what was sent."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    sys.stderr.write(f"localax: lab: a mistake of ours: {type(error).__name__} in {where}\n")
