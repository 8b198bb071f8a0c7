"""Discounts learnt from text: held out from training, or the training text itself, one word left out at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plre.counts.lookup import look_up
from plre.ensemble.build import Builder
from plre.smoothing.discounts import Discount, Steps
from plre.smoothing.fit import fit_steps
from plre.smoothing.jelinek_mercer import fit_shares


def fit_discounts(builder: Builder, ids: NDArray[np.int32], *, leave_one_out: bool) -> Sequence[Discount]:
    """The discounts of each order under which a text is likeliest; ``leave_one_out`` if it is one that was counted."""
    recipe, threads = builder.recipe, builder.threads
    with builder.progress.stage("fitting discounts"):
        events = look_up(builder.counts, ids, adjusted=recipe.continuation, threads=threads)
        if recipe.discount == "jm":
            return fit_shares(events, builder.uniform, leave_one_out=leave_one_out, threads=threads)
        start = [steps for steps in builder.discounts if isinstance(steps, Steps)]
        return fit_steps(events, start, builder.uniform, threads=threads)
