"""Questions to a model: all its components are asked, and their answers are put together.

    P(w | h) = sum over components of  weight(h) * share(w) * P_component(symbol(w) | h)

What a component is does not matter here: its plan has the addresses of its functions, so that a model compiles those
of its own kinds only. Text is asked about in blocks of 64 positions (``_texts.py``): every component says where in its
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
from plre.model._gates import left_over
from plre.model._plan import (
    ANSWER,
    ASK,
    AT_ONCE,
    COMPONENT_WIDTH,
    COMPONENTS,
    CURRENT,
    FIRST,
    GATES,
    IDS,
    LACKING,
    LAST,
    LINES,
    LONGEST,
    MATCHED,
    MEMBERS,
    MODEL_WIDTH,
    OFFSET,
    ORDERS,
    OWN,
    ROW,
    SHARES,
    SPACE,
    STAGE,
    STAGES,
    TABLE_COUNT,
    TABLE_WIDTH,
    TABLES,
    TOTAL,
    WEIGHT,
    at,
    hashes_of,
    lines_of,
    places_of,
    spare_row,
    todo_of,
)
from plre.model._tables import ask_lines, find_slots


@kernel
def component_at(number):
    """Where in a plan a component is described."""
    return MODEL_WIDTH + number * COMPONENT_WIDTH


@kernel
def last_weight(plan, block, component):
    """Where a component's weight at the last position is kept, and behind it what its probabilities sum to there."""
    return spare_row(at(block, SPACE) + at(plan, component + OFFSET), at(plan, component + TABLE_COUNT), 3)


@kernel
def visit_lines(plan, block, component, find):
    """Ask for the lines in which a component looks at this stage, or find its slots in them."""
    space, current = at(block, SPACE) + at(plan, component + OFFSET), at(block, CURRENT)
    for t in range(at(plan, component + TABLE_COUNT)):
        table = at(plan, component + TABLES) + t * TABLE_WIDTH
        if at(plan, table + LINES) == 0:  # compact n-grams have none
            break
        if current != AT_ONCE and at(plan, table + STAGE) != current:
            continue
        todo, hashes, lines = todo_of(space, t), hashes_of(space, t), lines_of(space, t)
        if find:
            find_slots(plan, table, todo, hashes, lines, places_of(space, t))
        else:
            ask_lines(plan, table, hashes, lines, 1, peek64(todo) + 1)


@kernel
def find_positions(plan, block, first, last):
    """Let all components find what they know of positions ``first`` to ``last`` of a text.

    That takes some stages, since what was found says what else is worth looking for.
    """
    poke64(block + 8 * FIRST, first)
    poke64(block + 8 * LAST, last)
    at_once = at(block, ORDERS) != 0
    for stage in range(1 if at_once else at(plan, STAGES)):
        poke64(block + 8 * CURRENT, AT_ONCE if at_once else stage)
        for number in range(at(plan, COMPONENTS)):
            component = component_at(number)
            call_address(at(plan, component + ASK), plan, component, block)
        for find in (False, True):
            for number in range(at(plan, COMPONENTS)):
                visit_lines(plan, block, component_at(number), find)


@kernel
def weight_of(plan, leader, member, gate, lacking):
    """The weight of a leader (member 0) or of one of its members in a context with this row of the gates.

    A component that leads no others has the same weight in every context.
    """
    weight = peek_double(plan + 8 * (leader + WEIGHT))
    members = at(plan, leader + MEMBERS)
    if members == 0:
        return weight
    gates = at(plan, leader + GATES) + 4 * gate * (members + 1)
    keep = np.float64(peek_float(gates))
    if member == 0:
        return weight * keep
    return weight * left_over(keep, lacking) * np.float64(peek_float(gates + 4 * member))


@kernel
def answer_components(plan, block):
    """Let all components answer; TOTAL becomes the probability of each position, LONGEST the order matched."""
    totals, longest, own, matched = at(block, TOTAL), at(block, LONGEST), at(block, OWN), at(block, MATCHED)
    ids, first = at(block, IDS), at(block, FIRST)
    rows, lacking = at(block, ROW), at(block, LACKING)
    columns = at(block, LAST) - first + 1
    for k in range(2, columns):
        poke_double(totals + 8 * k, 0.0)
        poke64(longest + 8 * k, 0)
    weight = 0.0
    leader, member, members = np.int64(0), np.int64(0), np.int64(0)
    for number in range(at(plan, COMPONENTS)):
        component = component_at(number)
        call_address(at(plan, component + ANSWER), plan, component, block)
        if member < members:
            member += 1
        else:
            leader, member, members = component, np.int64(0), at(plan, component + MEMBERS)
            for k in range(2, columns):
                poke64(longest + 8 * k, max(peek64(longest + 8 * k), peek64(matched + 8 * k)))
        shares = at(plan, component + SHARES)
        for k in range(2, columns):
            p = peek_double(own + 8 * k)
            if shares != 0:
                p *= np.float64(peek_float(shares + 4 * peek32(ids + 4 * (first + k - 1))))
            weight = weight_of(plan, leader, member, peek64(rows + 8 * k), peek_double(lacking + 8 * k))
            poke_double(totals + 8 * k, peek_double(totals + 8 * k) + weight * p)
        poke_double(last_weight(plan, block, component), weight)
        mass = 1.0 - peek_double(lacking + 8 * (columns - 1)) if member == 0 and members > 0 else 1.0
        poke_double(last_weight(plan, block, component) + 8, mass)
