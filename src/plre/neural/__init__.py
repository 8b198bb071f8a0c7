"""The log-bilinear model of Mnih and Hinton (2007), to compare with; needs the extra ``[neural]``.

>>> import plre.neural
>>> lm = plre.neural.train("corpus.txt", context=5, dev="dev.txt")  # doctest: +SKIP
>>> lm.perplexity("test.txt")                                        # doctest: +SKIP
"""

from __future__ import annotations

from importlib.util import find_spec

from plre.errors import PlreError

if find_spec("torch") is None or find_spec("safetensors") is None:
    raise PlreError("the log-bilinear model needs PyTorch and safetensors; run: pip install 'plre[neural]'")

from plre.neural.lbl import LogBilinear, train

load = LogBilinear.load

__all__ = ["LogBilinear", "load", "train"]
