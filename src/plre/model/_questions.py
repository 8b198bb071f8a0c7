"""Questions to a model: all its components are asked, and their answers are put together.

    P(w | h) = sum over components of  weight(h) * share(w) * P_component(symbol(w) | h)

What a component is does not matter here: its plan has the addresses of its functions, so that a model compiles those
of its own kinds only. Text is asked about in blocks of 63 positions (``_texts.py``): every component says where in its
tables it will look (``ask``), so that the machine fetches all of that side by side, and then answers. A single question
(``_steps.py``) is a block of two positions: the last word of the context, which has to be found, too, and the word.
Nothing else has to be known of what came before, so a context is nothing but words. Then there is the whole vocabulary,
over which a component can spread (``_spreading.py``).

All memory that is worked in comes from the caller: a *work space*, which ``plan.work_space`` makes.
"""

from __future__ import annotations

import numpy as np

from plre._jit import kernel
from plre._memory import call_address, peek32, peek64, peek_double, peek_float, poke64, poke_double
from plre.model import _plan as p
from plre.model._lookup import ask_lines, find_slots
from plre.model._plan import at, hashes_of, places_of, set_found
from plre.text._kernels import BOS


@kernel
def component_at(number):
    """Where in a plan a component is described."""
    return p.MODEL_WIDTH + number * p.COMPONENT_WIDTH


@kernel
def last_weight(plan, block, component):
    """Where a component's weight at the last position is kept, and behind it what its probabilities sum to there."""
    tables = at(plan, component + p.TABLE_COUNT)
    return p.spare_row(at(block, p.SPACE) + at(plan, component + p.OFFSET), tables, p.EXTRA_ROWS - 1)


@kernel
def nothing_before(word, words):
    """Whether nothing is known of what stands before a word: ``<s>``, or the id after the last one."""
    return (word == BOS) | (word == words)


@kernel
def begin_block(plan, block, first, last):
    """Let a block be about the positions ``first`` to ``last`` of its text, and find out how far each may look back.

    That is to the last ``<s>`` or unknown word: nothing is known of what stands before those.
    """
    poke64(block + 8 * p.FIRST, first)
    poke64(block + 8 * p.LAST, last)
    ids, words, reach, since = at(block, p.IDS), at(plan, p.WORDS), at(plan, p.REACH), at(block, p.SINCE_START)
    run = np.int64(reach)
    for i in range(first - reach + 1, first):
        run = np.int64(0) if nothing_before(peek32(ids + 4 * i), words) else run + 1
    starts = np.int64(0)
    for k in range(1, last - first + 1):
        begins = np.int64(nothing_before(peek32(ids + 4 * (first + k - 1)), words))
        run = (run + 1) * (1 - begins)
        poke64(since + 8 * k, run)
        starts |= begins << (k - 1)
    within, before = np.int64(-1), at(since, 1)
    for n in range(2, min(reach, 64) + 1):  # no n-gram is longer; a chain may look one word farther back
        within &= ~(starts << (n - 2))
        poke64(at(block, p.WITHIN) + 8 * n, within & (np.int64(-1) << max(n - 1 - before, 0)))


@kernel
def visit_lines(plan, block, component, find):
    """Ask for the lines in which a component looks at this stage, or find its slots in them."""
    space, current = at(block, p.SPACE) + at(plan, component + p.OFFSET), at(block, p.CURRENT)
    for t in range(at(plan, component + p.TABLE_COUNT)):
        table = at(plan, component + p.TABLES) + t * p.TABLE_WIDTH
        if at(plan, table + p.LINES) == 0:  # compact n-grams have none
            break
        if current == p.AT_ONCE or current == at(plan, table + p.STAGE):
            hashes, places = hashes_of(space, t), places_of(space, t)
            if find:
                set_found(space, t, find_slots(plan, table, hashes, places, at(hashes, 0)))
            else:
                ask_lines(plan, table, hashes, places, at(hashes, 0))


@kernel
def find_positions(plan, block, first, last):
    """Let all components find what they know of positions ``first`` to ``last`` of a text.

    That takes some stages, since what was found says what else is worth looking for.
    """
    begin_block(plan, block, first, last)
    at_once = at(block, p.ORDERS) != 0
    for stage in range(1 if at_once else at(plan, p.STAGES)):
        poke64(block + 8 * p.CURRENT, p.AT_ONCE if at_once else stage)
        for number in range(at(plan, p.COMPONENTS)):
            component = component_at(number)
            call_address(at(plan, component + p.ASK), plan, component, block)
        for find in (False, True):
            for number in range(at(plan, p.COMPONENTS)):
                visit_lines(plan, block, component_at(number), find)


@kernel
def add_up(plan, block, component, leader, member):
    """Add what a component answers to TOTAL, by its weight in each context; its weight at the last position."""
    totals, own, rows, lacking = at(block, p.TOTAL), at(block, p.OWN), at(block, p.ROW), at(block, p.LACKING)
    ids, shares = at(block, p.IDS) + 4 * (at(block, p.FIRST) - 1), at(plan, component + p.SHARES)
    weight, gated = peek_double(plan + 8 * (leader + p.WEIGHT)), at(plan, leader + p.MEMBERS) > 0
    given = weight
    for k in range(2, at(block, p.LAST) - at(block, p.FIRST) + 1):
        if gated:
            mass = weight if member == 0 else peek_double(lacking + 8 * k)
            given = mass * np.float64(peek_float(peek64(rows + 8 * k) + 4 * member))
        share = 1.0 if shares == 0 else np.float64(peek_float(shares + 4 * peek32(ids + 4 * k)))
        poke_double(totals + 8 * k, peek_double(totals + 8 * k) + given * (share * peek_double(own + 8 * k)))
    return given


@kernel
def answer_components(plan, block):
    """Let all components answer; TOTAL becomes the probability of each position, LONGEST the order matched."""
    totals, longest, matched = at(block, p.TOTAL), at(block, p.LONGEST), at(block, p.MATCHED)
    columns = at(block, p.LAST) - at(block, p.FIRST) + 1
    for k in range(2, columns):
        poke_double(totals + 8 * k, 0.0)
        poke64(longest + 8 * k, 0)
    leader, member, members = np.int64(0), np.int64(0), np.int64(0)
    for number in range(at(plan, p.COMPONENTS)):
        component = component_at(number)
        call_address(at(plan, component + p.ANSWER), plan, component, block)
        mass = 1.0
        if member < members:
            member += 1
        else:
            leader, member, members = component, np.int64(0), at(plan, component + p.MEMBERS)
            for k in range(2, columns):
                poke64(longest + 8 * k, max(peek64(longest + 8 * k), peek64(matched + 8 * k)))
            if members > 0:
                mass -= peek_double(at(block, p.LACKING) + 8 * (columns - 1))
                call_address(at(plan, leader + p.DIVIDE), plan, leader, block)
        kept = last_weight(plan, block, component)
        poke_double(kept, add_up(plan, block, component, leader, member))
        poke_double(kept + 8, mass)
