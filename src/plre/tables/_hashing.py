"""Hash tables of n-grams and contexts: a look-up reads one cache line, whether it finds anything or not.

A record is known by its owner and its symbol: an n-gram by its context and its last word, a context by the coarser
context and one symbol more. Keys follow from keys, so no table needs another one to be looked up in:

    key(owner, symbol) = key(owner) * STEP + symbol        of a word: the word itself

A line of 64 bytes has 8, 5 or 4 slots: 32 bits of the key's hash, the *check*, then one to three numbers. Which line is
a matter of "hash and displace": the hash chooses a shard of the table and in it a bucket of about three keys. All keys
of a bucket move together by its seed, a byte that was chosen when the table was built so that each of them finds room
in its line, and no two of a line have one check. So what was stored is always found, and nothing has to be looked for
in a second place. What was not stored is taken for a stored record once in some 500 million look-ups.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import high_product

#: Odd numbers without pattern: the step from an owner's key to its records', and those that mix bits.
STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_OTHER = np.uint64(0xA0761D6478BD642F)


@kernel
def key_of(owner, symbol):
    """The key of the record with this symbol, of an owner with this key."""
    return owner * STEP + np.uint64(symbol)


@kernel
def hash_of(key):
    """A hash of 64 bits: the upper ones choose shard and bucket, the lower 32 are the check."""
    x = (key + _OTHER) * _MIX
    return (x ^ (x >> np.uint64(32))) * STEP


@kernel
def shard_of(x, shard_bits):
    """The shard of a hash: its uppermost bits."""
    return np.int64((x >> np.uint64(1)) >> np.uint64(63 - shard_bits))


@kernel
def line_of(x, seed, height):
    """The line within its shard to which a seed moves a hash: all keys of a bucket move on by the same distance."""
    return np.int64(high_product(x * _MIX + np.uint64(seed) * _OTHER, height))


@kernel
def seed_place(x, seeds, buckets):
    """Where the seed of a hash is."""
    return seeds + np.int64(high_product(x, np.uint64(buckets)))


@kernel
def line_place(x, seed, lines, shard_bits, height):
    """Where the line of a hash is."""
    return lines + 64 * (shard_of(x, shard_bits) * height + line_of(x, seed, np.uint64(height)))
