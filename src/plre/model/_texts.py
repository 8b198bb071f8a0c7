"""Adding up the probabilities of a text: all together, by kind of word, and line by line."""

from __future__ import annotations

import math

from plre._jit import kernel
from plre.text._kernels import EOS, UNK

#: Products of probabilities are turned into a logarithm before they get too small for a float.
_SMALL = 1e-200


@kernel
def tally(ids, probs, matched, words, counts, sums, hits):
    """Add up positions: known words, unknown words, sentence ends; their log10 P; how many matched each order.

    ``<s>`` and what is not among the ``words`` are not counted. Logarithms are dear, so products are kept (one for each
    kind) until they get tiny. Written out for each kind: arrays of products make it slower.
    """
    known, unknown, end = 1.0, 1.0, 1.0
    for i in range(len(ids)):
        w = ids[i]
        p = probs[i]
        if EOS < w < words:
            known *= p
            if known < _SMALL:
                sums[0] += math.log10(known)
                known = 1.0
            counts[0] += 1
        elif w == UNK:
            unknown *= p
            if unknown < _SMALL:
                sums[1] += math.log10(unknown)
                unknown = 1.0
            counts[1] += 1
        elif w == EOS:
            end *= p
            if end < _SMALL:
                sums[2] += math.log10(end)
                end = 1.0
            counts[2] += 1
        else:
            continue
        hits[min(max(matched[i], 1), len(hits)) - 1] += 1
    sums[0] += math.log10(known)
    sums[1] += math.log10(unknown)
    sums[2] += math.log10(end)


@kernel
def line_scores(ids, probs, eos, lines):
    """The log10 probability of each line, up to its ``</s>``, which belongs to it if ``eos`` says so.

    ``<s>`` has probability 1.
    """
    product, total = 1.0, 0.0
    line = 0
    for i in range(len(ids)):
        ends = ids[i] == EOS
        if eos or not ends:
            product *= probs[i]
            if product < _SMALL:
                total += math.log10(product)
                product = 1.0
        if ends:
            lines[line] = total + math.log10(product)
            line += 1
            product, total = 1.0, 0.0
