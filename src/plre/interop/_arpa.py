"""Reading the lines of ARPA files: numbers, words, and where something is wrong."""

from __future__ import annotations

import math

import numpy as np

from plre._jit import kernel
from plre._memory import address_of, peek8
from plre.text._kernels import UNK, find_id, hash_bytes

#: What can be wrong with a line.
FINE, NO_NUMBER, TOO_FEW_WORDS, UNKNOWN_WORD, TOO_MUCH, ABOVE_ZERO, NOT_FINITE, NOT_NEEDED = range(8)

_TAB, _NEWLINE, _RETURN, _SPACE = 9, 10, 13, 32
_MINUS, _PLUS, _POINT, _ZERO, _NINE = 45, 43, 46, 48, 57
#: Letters that begin an exponent, "inf" and "nan", in lower case.
_E, _I, _N = 101, 105, 110
#: More digits than that a number of 64 bits cannot hold.
_MOST_DIGITS = 18


@kernel
def skip_blanks(at, end):
    """The first address from ``at`` on that is no blank within a line."""
    while at < end and (peek8(at) == _SPACE or peek8(at) == _TAB or peek8(at) == _RETURN):
        at += 1
    return at


@kernel
def word_end(at, end):
    """Where the word that begins at an address ends."""
    while at < end and peek8(at) != _SPACE and peek8(at) != _TAB and peek8(at) != _RETURN and peek8(at) != _NEWLINE:
        at += 1
    return at


@kernel
def read_digits(at, end, number, digits):
    """Go on with a number's digits: those that fit into it, how many these are, how many are left out, and the end."""
    left = 0
    while at < end and _ZERO <= peek8(at) <= _NINE:
        if digits < _MOST_DIGITS:
            number = number * 10 + (peek8(at) - _ZERO)
            digits += number > 0
        else:
            left += 1
        at += 1
    return number, digits, left, at


@kernel
def read_number(at, end, powers):
    """The number in letters at an address, and where it ends; that is where it began if there is none.

    ``powers`` are those of ten. Up to 22, and with no more digits than a double has, the result is rounded correctly.
    """
    start = at
    sign = 1.0
    if at < end and (peek8(at) == _MINUS or peek8(at) == _PLUS):
        sign = -1.0 if peek8(at) == _MINUS else 1.0
        at += 1
    first = at
    if at + 3 <= end and peek8(at) | 32 == _I and peek8(at + 1) | 32 == _N:
        return sign * np.inf, word_end(at, end)
    if at + 3 <= end and peek8(at) | 32 == _N and peek8(at + 2) | 32 == _N:
        return np.nan, word_end(at, end)
    number, digits, shift, at = read_digits(at, end, np.int64(0), np.int64(0))
    count = at - first
    if at < end and peek8(at) == _POINT:
        point = at + 1
        number, digits, left, at = read_digits(point, end, number, digits)
        shift += left - (at - point)
        count += at - point
    if count == 0:
        return 0.0, start
    if at + 1 < end and peek8(at) | 32 == _E:
        there = at + 1
        negative = peek8(there) == _MINUS
        there += negative or peek8(there) == _PLUS
        power, _, _, stop = read_digits(there, end, np.int64(0), np.int64(0))
        if stop > there:
            shift += -power if negative else power
            at = stop
    value = np.float64(number)
    if shift != 0:
        power_of_ten = powers[min(abs(shift), len(powers) - 1)]
        value = value * power_of_ten if shift > 0 else value / power_of_ten
    return sign * value, at


@kernel
def known_id(vocab, at, stop, end):
    """The id of a word, or -1; ``<UNK>`` is ``<unk>``, too."""
    found = find_id(vocab, at, stop, end, hash_bytes(at, stop))
    if found < 0 and stop - at == 5 and peek8(at) == 60 and peek8(at + 4) == 62:
        found = UNK if peek8(at + 1) == 85 and peek8(at + 2) == 78 and peek8(at + 3) == 75 else found
    return found


@kernel
def read_end(at, end, has_weight, powers):
    """A line's weight (-0.0: none), where the line ends, and what is wrong with it."""
    at = skip_blanks(at, end)
    weight = -0.0
    if at < end and peek8(at) != _NEWLINE:
        weight, stop = read_number(at, end, powers)
        if stop == at:
            return weight, at, TOO_MUCH
        if not math.isfinite(weight):
            return weight, at, NOT_FINITE
        if not has_weight and weight != 0:
            return weight, at, NOT_NEEDED
        if weight == 0:
            weight = -0.0
        at = skip_blanks(stop, end)
        if at < end and peek8(at) != _NEWLINE:
            return weight, at, TOO_MUCH
    return weight, at, FINE


@kernel
def read_log(at, end, powers):
    """The log probability that a line begins with, where it ends, and what is wrong with it."""
    value, stop = read_number(at, end, powers)
    if stop == at or math.isnan(value) or (stop < end and peek8(stop) != _TAB and peek8(stop) != _SPACE):
        return value, at, NO_NUMBER
    if value > 0:
        return value, at, ABOVE_ZERO
    return value, stop, FINE


@kernel
def read_ngrams(vocab, data, n, has_weight, powers, ids, logs, weights):
    """The n-grams of some lines: ids of words (a row for each place), log probabilities and weights.

    Returns how many there are, what is wrong with the line after these, and where in it.
    """
    start = at = address_of(data)
    end = start + len(data)
    count = 0
    while True:
        at = skip_blanks(at, end)
        if at == end:
            return count, FINE, np.int64(-1)
        if peek8(at) == _NEWLINE:
            at += 1
            continue
        value, at, wrong = read_log(at, end, powers)
        for k in range(n):
            if wrong != FINE:
                break
            at = skip_blanks(at, end)
            stop = word_end(at, end)
            if stop == at:
                wrong = TOO_FEW_WORDS
                break
            word = known_id(vocab, at, stop, end)
            if word < 0:
                wrong = UNKNOWN_WORD
                break
            ids[k, count] = word
            at = stop
        weight = -0.0
        if wrong == FINE:
            weight, at, wrong = read_end(at, end, has_weight, powers)
        if wrong != FINE:
            return count, wrong, at - start
        logs[count] = value
        weights[count] = weight
        count += 1


@kernel
def same_as(at, stop, word):
    """Whether the letters between two addresses are those of a word in an array."""
    if stop - at != len(word):
        return False
    for i in range(len(word)):  # noqa: SIM110
        if peek8(at + i) != word[i]:
            return False
    return True


@kernel
def read_words(data, has_weight, powers, specials, starts, letters, size, ids, logs, weights):
    """The unigrams of some lines, as :func:`read_ngrams`; their words are put behind each other.

    ``specials`` has the letters of what is special: ``<unk>``, ``<s>``, ``</s>``, ``<UNK>``, which get the ids 0, 1, 2
    and 0; other words get no id yet (-1). ``starts`` and ``letters`` are of those. ``size`` is how many letters there
    are before. Returns also how many words and letters were added.
    """
    start = at = address_of(data)
    end = start + len(data)
    count = words = 0
    while True:
        at = skip_blanks(at, end)
        if at == end:
            return count, FINE, np.int64(-1), words, size
        if peek8(at) == _NEWLINE:
            at += 1
            continue
        value, at, wrong = read_log(at, end, powers)
        begin = skip_blanks(at, end)
        stop = word_end(begin, end)
        if wrong == FINE and stop == begin:
            wrong = TOO_FEW_WORDS
        weight = -0.0
        if wrong == FINE:
            weight, at, wrong = read_end(stop, end, has_weight, powers)
        if wrong != FINE:
            return count, wrong, at - start, words, size
        ids[count] = -1
        if peek8(begin) == 60:
            for k in range(4):
                if same_as(begin, stop, specials[k]):
                    ids[count] = k % 3
        if ids[count] < 0:
            for i in range(stop - begin):
                letters[size + i] = peek8(begin + i)
            size += stop - begin
            words += 1
            starts[words] = size
        logs[count] = value
        weights[count] = weight
        count += 1


@kernel
def find_numbers(contexts, words, children, known, found):
    """The numbers of n-grams, each given by the number of its context and its last word; -1 for one that is not there.

    ``children`` says where those of each context start among ``known``, the last words of all.
    """
    for i in range(len(contexts)):
        h = contexts[i]
        if i > 0 and h == contexts[i - 1] and words[i] == words[i - 1]:
            found[i] = found[i - 1]
            continue
        low, stop = np.int64(0), np.int64(0)
        if h >= 0:
            low, stop = np.int64(children[h]), np.int64(children[h + 1])
        last = stop
        while low < stop:
            middle = (low + stop) >> 1
            if known[middle] < words[i]:
                low = middle + 1
            else:
                stop = middle
        found[i] = low if low < last and known[low] == words[i] else -1
