"""A perplexity that says what it is: every way of counting, labelled, with a signature of how it came about."""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from plre._version import __version__
from plre.errors import ModelFileError, PlreWarning, UsageError
from plre.model.lm import LanguageModel
from plre.model.scoring import Scored, Tally
from plre.progress import Progress
from plre.text.encode import describe
from plre.text.sources import Errors, Source
from plre.text.tokens import Tokenized, Tokenizer, with_tokens


@dataclass(frozen=True)
class Report:
    """The perplexity of a text under a model, counted in every way.

    ``tokens`` are all words and, if the model has them, sentence ends.
    """

    name: str
    tally: Tally
    seconds: float
    signature: str
    #: Words of the text as it is written, if the model predicts tokens.
    written: int | None = None

    @property
    def words(self) -> int:
        """Words, unknown ones included, sentence ends not."""
        return int(self.tally.counts[:2].sum())

    @property
    def oov(self) -> int:
        """Words that the model does not know."""
        return int(self.tally.counts[1])

    @property
    def sentences(self) -> int:
        """Sentence ends that were predicted."""
        return int(self.tally.counts[2])

    @property
    def tokens(self) -> int:
        """Words and sentence ends: everything that was predicted."""
        return int(self.tally.counts.sum())

    @property
    def logprob10(self) -> float:
        """Base 10 logarithm of the whole text's probability."""
        return float(self.tally.logprob10.sum())

    @property
    def perplexity(self) -> float:
        """Perplexity over all tokens, ``</s>`` counted, unknown words as ``<unk>``."""
        return self.tally.perplexity()

    @property
    def perplexity_excluding_oov(self) -> float:
        """Perplexity without unknown words."""
        return self.tally.perplexity(oov=False)

    @property
    def perplexity_excluding_eos(self) -> float:
        """Perplexity without ``</s>``."""
        return self.tally.perplexity(eos=False)

    @property
    def perplexity_excluding_both(self) -> float:
        """Perplexity without unknown words and ``</s>``."""
        return self.tally.perplexity(oov=False, eos=False)

    @property
    def bits(self) -> float:
        """The information in the text: -log2 of its probability."""
        return -self.logprob10 * math.log2(10)

    @property
    def bits_per_word(self) -> float:
        """Bits of the whole text, sentence ends included, for each word."""
        words = self.words if self.written is None else self.written
        return self.bits / words if words else math.nan

    @property
    def perplexity_per_word(self) -> float:
        """Perplexity over words as they are written and sentence ends: to be compared with that of models of words."""
        words = self.words if self.written is None else self.written
        return float(10 ** (-self.logprob10 / (words + self.sentences))) if words else math.nan

    @property
    def bits_per_character(self) -> float:
        """Bits of the whole text for each character, white space included."""
        return self.bits / int(self.tally.letters[0]) if self.tally.letters[0] else math.nan

    @property
    def bits_per_byte(self) -> float:
        """Bits of the whole text for each byte of UTF-8, white space included."""
        return self.bits / int(self.tally.letters[1]) if self.tally.letters[1] else math.nan

    def as_dict(self) -> dict[str, Any]:
        """All numbers, by the names that the JSON format has."""
        return {
            "text": self.name,
            "perplexity": _number(self.perplexity),
            "perplexity_excluding_oov": _number(self.perplexity_excluding_oov),
            "perplexity_excluding_eos": _number(self.perplexity_excluding_eos),
            "perplexity_excluding_oov_and_eos": _number(self.perplexity_excluding_both),
            **({} if self.written is None else {"perplexity_per_word": _number(self.perplexity_per_word)}),
            "tokens": self.tokens,
            "words": self.words,
            "sentences": self.sentences,
            "oov": self.oov,
            "logprob10": _number(self.logprob10),
            "bits_per_word": _number(self.bits_per_word),
            "bits_per_character": _number(self.bits_per_character),
            "bits_per_byte": _number(self.bits_per_byte),
            "matched": {str(n): int(hits) for n, hits in enumerate(self.tally.hits, 1)},
            "seconds": self.seconds,
            "signature": self.signature,
        }

    def __repr__(self) -> str:
        share = f", {self.oov / self.words:.2%} of words unknown" if self.words else ""
        return f"<plre.Report on {self.name}: perplexity {self.perplexity:.2f}, {self.tokens:,} tokens{share}>"

    def __str__(self) -> str:
        share = self.oov / self.words if self.words else 0.0
        rate = self.tokens / max(self.seconds, 1e-9)
        matched = "  ".join(
            f"{n}: {hits / self.tokens:.1%}" for n, hits in enumerate(self.tally.hits, 1) if self.tokens
        )
        counted = "all words and </s>" if self.sentences else "all words; no </s> in a model without markers"
        without_eos = [
            f"    excluding </s>               {self.perplexity_excluding_eos:>12.3f}",
            f"    excluding OOV and </s>       {self.perplexity_excluding_both:>12.3f}",
        ]
        per_word = (
            f"  perplexity per word            {self.perplexity_per_word:>12.3f}   {self.written or 0:,} words and </s>"
        )
        return "\n".join(
            [
                f"{self.name}",
                f"  perplexity                     {self.perplexity:>12.3f}   {counted}, OOV as <unk>",
                f"    excluding OOV                {self.perplexity_excluding_oov:>12.3f}",
                *(without_eos if self.sentences else []),
                *([] if self.written is None else [per_word]),
                f"  words                          {self.words:>12,}",
                f"  sentences (</s>)               {self.sentences:>12,}",
                f"  OOV                            {self.oov:>12,}   {share:.2%} of words",
                f"  log10 probability              {self.logprob10:>12,.1f}",
                f"  bits per word                  {self.bits_per_word:>12.3f}   "
                f"{self.bits_per_character:.3f} per character, {self.bits_per_byte:.3f} per byte",
                f"  longest n-gram matched           {matched}",
                f"  time                           {self.seconds:>11.2f}s   {rate:,.0f} tokens/s",
                f"  signature  {self.signature}",
            ]
        )


def _number(value: float) -> float | None:
    """None (null in JSON) where there is no number: nothing to average, or a word of probability 0."""
    return value if math.isfinite(value) else None


def reads_metadata(function: Callable[[LanguageModel], str]) -> Callable[[LanguageModel], str]:
    """Make metadata that a function cannot use an error that names the file: anyone may have written it."""

    @wraps(function)
    def read(lm: LanguageModel) -> str:
        try:
            return function(lm)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise ModelFileError(
                f"{lm.path or 'the model'}: what it says about itself is damaged ({error!r}); "
                "copy or train the model again"
            ) from None

    return read


@reads_metadata
def signature(lm: LanguageModel) -> str:
    """A line that says how a number was computed, short enough to stand below a table."""
    about = lm.metadata
    method = about["method"] + (f"/{about['preset']}" if about.get("preset") else "")
    classes = about.get("classes", "")
    parts = {
        "plre": __version__,
        "method": method,
        "order": lm.order,
        "vocab": len(lm.vocab),
        "min_count": (about["min_count"] or "list") if "min_count" in about else "",
        "classes": ",".join(map(str, classes)) if isinstance(classes, list) else classes,
        "class_order": about["members"]["order"] if "members" in about else "",
        "class_least": about["members"]["least"] if "members" in about else "",
        "class_sweeps": about["members"]["sweeps"] if "members" in about else "",
        "contexts": ";".join(about["members"]["contexts"]) if "members" in about else "",
        "starts": about.get("starts", ""),
        "weights": ",".join(f"{each.weight:.4g}" for each in lm.components) if "weights" in about else "",
        "oov": "unk",
        "eos": "counted" if lm.markers else "none",
        "rungs": ",".join(
            f"{n}:{power:g}:{rank}" for n, each in about.get("rungs", {}).items() for power, rank in each
        ),
        "uniform": "no" if about.get("uniform") is False else "",
        "seed": about.get("seed", ""),
        "pruned": f"{about['pruned']['threshold']:.4g}" if "pruned" in about else "",
        "model": lm.digest,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items() if value != "")


def evaluate(
    lm: LanguageModel,
    text: Source,
    *,
    name: str | None = None,
    skip_markers: bool = False,
    errors: Errors = "strict",
    threads: int | None = None,
    progress: Progress | None = None,
    tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
    also: Callable[[Scored], object] | None = None,
) -> Report:
    """Score a text and report on it.

    ``tokenizer`` is the one that the model was trained with, if it was; ``also`` is shown every piece of the text, such
    as :class:`WordLines`.
    """
    if not hasattr(lm, "tally"):
        raise UsageError(f"evaluate takes a model, not {lm!r}; open a file with plre.load")
    start = time.perf_counter()
    if tokenizer is not None and not isinstance(tokenizer, Tokenizer):
        tokenizer = Tokenizer(tokenizer)
    source = with_tokens(text, lm.metadata, tokenizer)
    tally = lm.tally(source, skip_markers=skip_markers, errors=errors, threads=threads, progress=progress, also=also)
    if np.isnan(tally.logprob10).any():
        problem = "some probabilities are not numbers: the model is damaged; check it with plre verify"
        warnings.warn(problem, PlreWarning, stacklevel=2)
    written = None
    if isinstance(source, Tokenized):
        written, tally.letters[:] = int(source.letters[0]), source.letters[1:]
    return Report(name or describe(text), tally, time.perf_counter() - start, signature(lm), written)


def total(reports: list[Report]) -> Report:
    """The report on several texts as if they were one."""
    whole = Tally(reports[0].tally.order)
    for report in reports:
        whole.add(report.tally)
    seconds = sum(report.seconds for report in reports)
    written = [report.written for report in reports if report.written is not None]
    return Report(f"all {len(reports)} texts", whole, seconds, reports[0].signature, sum(written) if written else None)


def render(reports: list[Report], style: str, *, one_line: bool = False) -> str:
    """The reports in one of the formats of ``plre eval``: text, json (on one line if so asked), tsv, kenlm or srilm."""
    whole = reports[0] if len(reports) == 1 else total(reports)
    if style == "json":
        data = whole.as_dict()
        if len(reports) > 1:
            data["texts"] = [report.as_dict() for report in reports]
        return json.dumps(data, indent=None if one_line else 2, ensure_ascii=False, allow_nan=False)
    rows = reports if len(reports) == 1 else [*reports, whole]
    if style == "tsv":
        table = [{key: value for key, value in row.as_dict().items() if key != "matched"} for row in rows]
        return "\n".join(["\t".join(table[0]), *("\t".join(map(str, row.values())) for row in table)])
    if style == "kenlm":
        return (
            f"Perplexity including OOVs:\t{whole.perplexity}\n"
            f"Perplexity excluding OOVs:\t{whole.perplexity_excluding_oov}\n"
            f"OOVs:\t{whole.oov}\nTokens:\t{whole.tokens}"
        )
    if style == "srilm":
        return "\n".join(_srilm(row) for row in rows)
    return "\n\n".join(str(row) for row in rows)


def _srilm(report: Report) -> str:
    """SRILM's two lines: unknown words are left out, and ppl1 does not count ``</s>`` among the tokens."""
    logprob = float(report.tally.logprob10[[0, 2]].sum())
    known = report.words - report.oov
    ppl = report.perplexity_excluding_oov
    ppl1 = 10 ** (-logprob / known) if known else float("nan")
    return (
        f"file {report.name}: {report.sentences} sentences, {report.words} words, {report.oov} OOVs\n"
        f"0 zeroprobs, logprob= {logprob:.7g} ppl= {ppl:.7g} ppl1= {ppl1:.7g}"
    )
