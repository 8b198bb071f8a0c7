"""Where kernels find a model's arrays: the names of the fields of a plan, and reading them.

A plan is an array of 64-bit numbers that Python makes when a model is opened (``plan.py``): addresses and sizes of the
model's arrays, and what follows from those. Nothing in a model file says where anything is. First come the fields of
the model, then those of each component, then those of each table. A block (``_questions.py``) is such an array, too:
the positions that are asked about, and where the answers go.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import peek32, peek64, poke64
from plre.text._kernels import VOCABULARY_WIDTH as VOCABULARY_WIDTH
from plre.text._kernels import WORDS as WORDS

#: Of the model, after the fields of its vocabulary (``text/_kernels.py``), so that a plan can be given where a
#: vocabulary is asked for: the longest n-gram that has a say, its components, a work space for questions that keep the
#: GIL, a record of 16 bytes that says backoff 1, for what was not found; the stages in which text is looked up; and
#: where a single question looks: a list of tables, of their rows in the work space and of columns, how many of them are
#: about the word and how many there are, those about the context included.
(REACH, COMPONENTS, WORK, NOWHERE, _1, STAGES, LOOKUPS, OF_WORD, OF_BOTH,
 MODEL_WIDTH) = range(VOCABULARY_WIDTH, VOCABULARY_WIDTH + 10)  # fmt: skip

#: Of a component: the functions of its kind (LAYERS, OPEN and DIVIDE: 0 if it has no low rank layers or gates), the
#: length of its n-grams (or how many slots its contexts have), the symbols that it predicts, its map from words to
#: symbols (0: words are symbols) and the share that a word has of its symbol (0: all), its weight, how many of the
#: components after it it leads and by which gates, what its unigrams lack to sum to one, its unigrams, their weights as
#: contexts, whether contexts say what they lack, its first table and how many there are, the order that is looked up
#: first, where its part of the work space begins, where its slots are described, where its part of the buffer for
#: distributions begins, and for samples the words of each symbol and where they start.
(ASK, SINGLE, ANSWER, LAYERS, OPEN, DIVIDE, SPREAD, LEVELS, SYMBOLS, MAP, SHARES, WEIGHT, MEMBERS, GATES, ROOT,
 UNIGRAMS, WEIGHTS, MISSING, TABLES, TABLE_COUNT, FIRST_ORDER, OFFSET, CHAIN, BUFFER, MEMBER_WORDS, MEMBER_STARTS,
 COMPONENT_WIDTH) = range(27)  # fmt: skip

#: Of a table: its lines and seeds, the bits that choose a shard, buckets of all shards and lines of each, the lanes in
#: which checks stand, slots of a line and a factor that divides by the words of a slot; the symbols of its records and
#: bits of a symbol, how many records there are, the bits that end a run; where the run of each owner starts, bits of
#: such a number, how many owners there are, and where in MEMO its numbers are; the first column that is looked up in it
#: (2 if the position before those of a block does not matter) and at which stage; and the low rank layers
#: (``_lowrank.py``). From STRIDE on, of compact n-grams (``_compact.py``): bits of a record, of a symbol, of a number
#: and of a start, and the codes of probabilities, of weights and of both sides' factors.
(LINES, SEEDS, SHARD_BITS, BUCKETS, HEIGHT, LANES, PER_LINE, INVERSE, LIST, LIST_BITS, RECORDS, ENDS,
 RUNS, RUN_BITS, OWNERS, RUN_MEMO, SINCE, STAGE, RANKS, POINTERS, FACTORS, FACTOR_COUNT, RANK,
 STRIDE, SYMBOL_BITS, NUMBER_BITS, START_BITS, PROB_BASE, PROB_STEP, WEIGHT_BASE, WEIGHT_STEP, RIGHT_BASE,
 RIGHT_STEP, LEFT_BASE, LEFT_STEP, TABLE_WIDTH) = range(36)  # fmt: skip

#: Of a slot of a chain of contexts: how far back it looks, the map by which, and how many symbols that has.
SLOT_DISTANCE, SLOT_MAP, SLOT_SYMBOLS, CHAIN_WIDTH = range(4)

#: Positions that are asked about together: with the one before them they are the bits of a number of 64, a *mask*. In
#: rows of the work space that one is column 1 (bit 0), those asked about are columns 2 and up, and column 0 has a mask.
BLOCK = 63
#: Numbers of a row of the work space: columns, or one for each length of n-grams, of which the longest is 64.
COLUMNS = 66
#: A block: ids of the text, the first position and the one after the last, the stage at which it is looked up (or
#: AT_ONCE), the work space; for each column how many words back the last ``<s>`` is, and for each length the mask of
#: the n-grams that do not reach beyond that; for each column what a component answers: probability, row of the gates
#: (then its address), missing mass (then the mass that the row divides), order matched; how many words matter after the
#: last position. ORDERS, if not 0, is where the probabilities of each order go. Of the whole vocabulary: a range of
#: symbols and where their probabilities go. Of a single question: how many words its context has and how many matter
#: after the word (-1: there was none), what the work space knows of the context; and numbers of runs that are known.
(IDS, FIRST, LAST, CURRENT, SPACE, SINCE_START, WITHIN, OWN, ROW, LACKING, MATCHED, TOTAL, LONGEST, NEEDED, ORDERS, LOW,
 HIGH, OUT, GIVEN, KEPT, BEFORE, MEMO, BLOCK_WIDTH) = range(23)  # fmt: skip
AT_ONCE = -1
#: What is known of the context of a single question: nothing, everything, or everything since it ends with the word of
#: the question before.
FRESH, SAME, NEXT = range(3)
#: Rows of the work space that belong to the block itself.
BLOCK_ROWS = 8

#: The type of the functions of a component's kind: they take a plan, where in it the component is, and a block.
PROTOCOL = "int64(int64, int64, int64)"

#: Gates have this many rows for each length of a context: by half octaves of what its probabilities lack.
GATE_BUCKETS = 16
#: Rows of a component's work space for its unigrams and for each of its tables, and besides.
TABLE_ROWS = 3
EXTRA_ROWS = 6


@kernel
def at(plan, field):
    """A field of a plan or a block."""
    return peek64(plan + 8 * field)


@kernel
def symbol_of(table, symbols, word):
    """The symbol of a word by the map at this address (0: itself), at most ``symbols`` whatever the map says.

    The word after the last one stands for "not known", and so does the symbol after the last one.
    """
    return word if table == 0 else min(peek32(table + 4 * word), symbols)


@kernel
def bits_at(address, first, size):
    """The number in ``size`` bits (at most 57), from bit ``first`` on; 8 bytes are readable after the last number."""
    return (peek64(address + (first >> 3)) >> (first & 7)) & ((1 << size) - 1)


@kernel
def row(space, number):
    """The address of a row of the work space."""
    return space + 8 * COLUMNS * number


@kernel
def keys_of(space, table):
    """The row with the keys of a component's table; tables are counted from 0, and unigrams are -1."""
    return row(space, TABLE_ROWS * (table + 1))


@kernel
def hashes_of(space, table):
    """The row with the hashes of those, after the mask of the columns in which they are looked up."""
    return row(space, TABLE_ROWS * (table + 1) + 1)


@kernel
def places_of(space, table):
    """The row with where the seeds of those are, then their lines, then their slots, after the mask of those found."""
    return row(space, TABLE_ROWS * (table + 1) + 2)


@kernel
def found_of(space, table):
    """The mask of the columns in which something was found in a table."""
    return peek64(places_of(space, table))


@kernel
def set_found(space, table, mask):
    """Let this be the mask of the columns in which something was found in a table."""
    poke64(places_of(space, table), mask)


@kernel
def asked_from(block, column):
    """The mask of a block's columns from this one on; it has at least one."""
    return (np.int64(-1) << (column - 1)) & ~(np.int64(-2) << (at(block, LAST) - at(block, FIRST) - 1))


@kernel
def spare_row(space, tables, number):
    """A row for other things, of EXTRA_ROWS, behind those of so many tables."""
    return row(space, TABLE_ROWS * (tables + 1) + number)
