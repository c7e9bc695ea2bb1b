"""Settings: what every class says of its own, checked once; objects from typed words and files; objects as data.

A class annotates its fields with a `Setting`; from these annotations come the checks in its constructor, the lists that
the command line prints, and the objects built from a settings file. This room knows no class itself: whoever reads a
file hands it shelves, which are tuples of classes.
"""

from ._description import description
from ._objects import Shelf, built, chosen, listing
from ._setting import (
    SIZE,
    Number,
    Setting,
    Size,
    SizeField,
    checked_count,
    checked_size,
    counted_seeds,
    finite_array,
    instance,
    plain_settings,
    settings_of,
    validated,
)
from ._typed import flag_pairs, put, read_toml, set_pairs, typed_value

__all__ = [
    "SIZE",
    "Number",
    "Setting",
    "Shelf",
    "Size",
    "SizeField",
    "built",
    "checked_count",
    "checked_size",
    "chosen",
    "counted_seeds",
    "description",
    "finite_array",
    "flag_pairs",
    "instance",
    "listing",
    "plain_settings",
    "put",
    "read_toml",
    "set_pairs",
    "settings_of",
    "typed_value",
    "validated",
]
