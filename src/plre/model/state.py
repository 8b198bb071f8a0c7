"""What a decoder carries from word to word."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """The context that still matters: word ids, oldest first. Equal states give equal futures.

    States are values: they can be hashed, compared, copied and pickled, and belong to the model they came from.
    """

    context: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.context)
