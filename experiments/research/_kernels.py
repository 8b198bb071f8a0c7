"""Numbering keys."""

from __future__ import annotations

import numpy as np

from plre._jit import inner_kernel, kernel
from plre._memory import prefetch

_ODD, _PRIME = np.uint64(0x632BE59BD9B4E019), np.uint64(0xD6E8FEB86659FD93)
_HIGH, _EMPTY, _ONE, _TWO = np.uint64(32), np.uint64(0), np.uint64(1), np.uint64(2)
#: Keys between one that is fetched and one that is looked at.
_AHEAD = 16


@kernel
def mix_in(keys, symbols):
    """Make every key that of the same with one more symbol. 0 is no key: it stands for an empty slot."""
    for i in range(len(keys)):
        key = (keys[i] ^ (np.uint64(symbols[i]) + _ODD)) * _PRIME
        key = (key ^ (key >> _HIGH)) * _PRIME
        key ^= key >> _HIGH
        keys[i] = key if key != _EMPTY else _ODD


@inner_kernel
def find_key(key, slots):
    """Where the slot of a key begins, or the empty one where it belongs.

    A slot is a key and its number; there are a power of two of them, not all full.
    """
    last = np.uint64(len(slots) - 1)
    at = (key << _ONE) & last
    while slots[at] != key and slots[at] != _EMPTY:
        at = (at + _TWO) & last
    return at


@inner_kernel
def ahead(keys, i, slots):
    """Fetch the slot of a key whose turn comes soon: nearly all the time goes into waiting for them."""
    soon = min(i + _AHEAD, len(keys) - 1)
    prefetch(slots, np.int64((keys[soon] << _ONE) & np.uint64(len(slots) - 1)) * 8)


@kernel
def number_in_order(keys, slots, found, first):
    """Number keys in the order of their first occurrences, which go to ``first``; gives how many there are."""
    n = 0
    for i in range(len(keys)):
        ahead(keys, i, slots)
        at = find_key(keys[i], slots)
        if slots[at] == _EMPTY:
            slots[at] = keys[i]
            slots[at + _ONE] = np.uint64(n)
            first[n] = i
            n += 1
        found[i] = np.int32(slots[at + _ONE])
    return n


@kernel
def find_numbers(keys, slots, found):
    """The numbers of keys, -1 for those that have none."""
    for i in range(len(keys)):
        ahead(keys, i, slots)
        at = find_key(keys[i], slots)
        found[i] = np.int32(slots[at + _ONE]) if slots[at] != _EMPTY else -1
