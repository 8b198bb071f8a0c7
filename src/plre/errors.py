"""Everything that can go wrong, as one tree: catch :class:`PlreError` to catch all of it.

A message says what is wrong, where (file and line), and what to do about it.
"""

from __future__ import annotations


class PlreError(Exception):
    """Base of all errors that plre raises on purpose."""


class UsageError(PlreError, ValueError):
    """An argument or option that does not make sense (exit code 2 on the command line)."""


class TooLargeError(UsageError):
    """More of something than a model can hold, or than can be counted."""


class NoRoomError(UsageError):
    """Work that needs more memory than it may take."""


class TextError(PlreError, ValueError):
    """Text that cannot be used as it is; names the file and the line."""


class ModelFileError(PlreError, ValueError):
    """A file that is not a usable plre model."""


class PlreWarning(UserWarning):
    """Something worth knowing that did not stop the work."""
