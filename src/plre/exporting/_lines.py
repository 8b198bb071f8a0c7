"""Writing the lines of ARPA files."""

from __future__ import annotations

import numpy as np

from plre._jit import kernel

_TAB, _NEWLINE, _SPACE, _MINUS, _POINT, _ZERO = 9, 10, 32, 45, 46, 48
#: Digits after the point that are tried: a number that needs more is nothing.
MOST_DIGITS = 17
#: Bytes that a number takes at most.
LONGEST_NUMBER = 40


@kernel
def write_whole(number, out, at):
    """A whole number from 0 up; gives the place behind it."""
    size = 1
    rest = number // 10
    while rest > 0:
        size += 1
        rest //= 10
    for k in range(size - 1, -1, -1):
        out[at + k] = _ZERO + number % 10
        number //= 10
    return at + size


@kernel
def write_number(value, powers, out, at):
    """The shortest decimal fraction that is read back as this number of 32 bits; gives the place behind it."""
    number = np.float64(value)
    if number < 0:
        out[at] = _MINUS
        at += 1
        number = -number
    wanted = np.float32(number)
    digits = 0
    scaled = np.rint(number)
    while digits < MOST_DIGITS and np.float32(scaled / powers[digits]) != wanted:
        digits += 1
        scaled = np.rint(number * powers[digits])
    power = np.int64(powers[digits])
    at = write_whole(np.int64(scaled) // power, out, at)
    if digits > 0:
        out[at] = _POINT
        at += 1
        rest = np.int64(scaled) % power
        for k in range(digits - 1, -1, -1):
            out[at + k] = _ZERO + rest % 10
            rest //= 10
        at += digits
    return at


@kernel
def write_word(word, letters, starts, out, at):
    """A word; gives the place behind it."""
    for i in range(starts[word], starts[word + 1]):
        out[at] = letters[i]
        at += 1
    return at


@kernel
def write_lines(contexts, children, words, logs, weights, letters, starts, powers, out):
    """The lines of the n-grams of some contexts; gives how many bytes they take.

    ``contexts`` has a row for each place and a column for each context, whose n-grams are ``words`` from
    ``children[i]`` to ``children[i + 1]``, counted from the first. ``weights`` is empty in the highest order.
    """
    at = 0
    for i in range(contexts.shape[1]):
        for j in range(children[i] - children[0], children[i + 1] - children[0]):
            at = write_number(logs[j], powers, out, at)
            out[at] = _TAB
            at += 1
            for k in range(contexts.shape[0]):
                at = write_word(contexts[k, i], letters, starts, out, at)
                out[at] = _SPACE
                at += 1
            at = write_word(words[j], letters, starts, out, at)
            if len(weights) and weights[j] != 0:
                out[at] = _TAB
                at = write_number(weights[j], powers, out, at + 1)
            out[at] = _NEWLINE
            at += 1
    return at
