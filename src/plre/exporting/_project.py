"""Choosing the n-grams that stand for a model, and finding what shorter contexts should say."""

from __future__ import annotations

import math

import numpy as np

from plre._jit import kernel

#: How often the weight of the shorter context is found anew while n-grams are chosen.
_ROUNDS = 6
_SETTLED = 1e-3
#: Nothing is left over if it is no more than that.
_NOTHING = 1e-9


@kernel
def choose(row, mass, lower, allowed, prices, chosen, gains):
    """The words that are worth an n-gram of their own after a context which is met ``mass`` times.

    ``row`` is what the model says there, ``lower`` what the shorter context says, which others get from, times a weight
    that makes all of it sum to one. What an n-gram is worth is what it adds to the log-likelihood of the model's own
    text: P log(P / Q) - P + Q; that must be more than the price of its word. Returns how many words were chosen, and
    their probability together.
    """
    weight = 1.0
    count, kept = 0, 0.0
    for _ in range(_ROUNDS):
        count, kept, covered = 0, 0.0, 0.0
        for k in range(len(allowed)):
            w, price = allowed[k], prices[k]
            p, q = row[w], weight * lower[w]
            if p <= 0 or q <= 0 or mass * (p - q) * (p - q) <= price * q:  # more than that it cannot be
                continue
            gain = mass * (p * math.log(p / q) - p + q)
            if gain > price:
                chosen[count] = w
                gains[count] = gain
                count += 1
                kept += p
                covered += lower[w]
        before = weight
        weight = max(1 - kept, _NOTHING) / max(1 - covered, _NOTHING)
        if abs(weight - before) <= _SETTLED * before:
            break
    return count, kept


@kernel
def add_rest(row, mass, chosen, out):
    """Add what a context leaves to the shorter one: how often each word comes that was not chosen."""
    for w in range(len(row)):
        out[w] += mass * row[w]
    for w in chosen:
        out[w] -= mass * row[w]


@kernel
def maximise(counts, starts, places, left, rest, steps, tolerance, probs):
    """The probabilities under which what backs off to a context is likeliest.

    ``counts`` is how often each word comes, ``rest`` how often any other; each longer context backs off ``left[i]``
    times, and its own words, ``places`` from ``starts[i]`` to ``starts[i + 1]``, can then not come. It is as if words
    were drawn until one comes that may: EM counts those in vain, too.
    """
    drawn = np.empty(len(counts))
    for _ in range(steps):
        drawn[:] = 0
        for i in range(len(left)):
            covered = 0.0
            for k in range(starts[i], starts[i + 1]):
                covered += probs[places[k]]
            again = left[i] / max(1 - covered, _NOTHING)
            for k in range(starts[i], starts[i + 1]):
                drawn[places[k]] += again
        total = rest
        for w in range(len(probs)):
            drawn[w] = counts[w] + drawn[w] * probs[w]
            total += drawn[w]
        moved = 0.0
        for w in range(len(probs)):
            new = drawn[w] / total
            moved += abs(new - probs[w])
            probs[w] = new
        if moved < tolerance:
            break


@kernel
def covered_by(starts, places, probs, out):
    """The sum of some probabilities for each context."""
    for i in range(len(starts) - 1):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += probs[places[k]]
        out[i] = total
