"""All that takes input from outside, as targets."""

from .commands import CommandLine
from .lab import Routes
from .loaders import FILES, Loader
from .settings import SettingsFiles, SettingValues, SweepFiles
from .stores import SealedFiles, Stores

ALL = (
    CommandLine(), SettingsFiles(), SweepFiles(), SettingValues(), *map(Loader, FILES), Stores(), SealedFiles(),
    Routes(),
)  # fmt: skip
"""Every target."""
