"""What is tried, each against the same model: word trigrams, and class 5-grams of three clusterings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from experiments.research.components import (
    DISCOUNTS,
    ClassModel,
    HybridModel,
    Predictor,
    Setup,
    SoftClasses,
    Trained,
    WordModel,
    ngram_contexts,
)
from experiments.research.corpus import Context, ExchangeClasses, Feature

COARSE, MIDDLE, FINE = ExchangeClasses(100, 1), ExchangeClasses(300, 2), ExchangeClasses(800, 3)
SIZES = (COARSE, MIDDLE, FINE)
W1, W2 = Feature(1), Feature(2)


def classes(
    clusterings: Iterable[ExchangeClasses] = SIZES, order: int = 5, discount: str = "Good-Turing"
) -> list[Predictor]:
    """Class models of one order."""
    return [ClassModel(found, order, discount) for found in clusterings]


def beside(*components: Predictor) -> Setup:
    """These components beside word trigrams."""
    return Setup(components=components)


BASE = beside(*classes())
WORDS = Setup()


def with_more(*components: Predictor) -> Setup:
    """The usual model with more components."""
    return beside(*BASE.components, *components)


@dataclass(frozen=True)
class Hypothesis:
    """Something that might help, and ways to do it."""

    name: str
    expected: str
    tried: dict[str, Setup]
    before: Setup = BASE


def _c(place: int, found: ExchangeClasses) -> Feature:
    return Feature(place, found)


#: Contexts for words, from one that few events have to one that all have.
NEAR_CLASS = ((_c(1, MIDDLE),), ())
WORD_CLASS = ((W1, _c(2, MIDDLE)), (W1,), *NEAR_CLASS)
WORD_CLASSES = ((W1, _c(2, MIDDLE), _c(3, COARSE)), *WORD_CLASS)
CLASS_WORD = ((_c(1, FINE), W2), (_c(1, FINE),), ())
CLASSES = ngram_contexts(5, MIDDLE)
#: The nearest word by its fine class, older ones by coarser and coarser ones.
TAPER = (_c(1, FINE), _c(2, MIDDLE), _c(3, COARSE), _c(4, COARSE), _c(5, COARSE))
TAPERED: tuple[Context, ...] = tuple(TAPER[:n] for n in range(5, -1, -1))


def one_sided(found: ExchangeClasses, order: int = 5, discount: str = "Good-Turing") -> ClassModel:
    """Classes of predicted words by what they follow, classes of contexts by what follows them."""
    contexts = ngram_contexts(order, found._replace(role="context"))
    return ClassModel(found._replace(role="predicted"), order, discount, contexts)


def skipping(found: ExchangeClasses, order: int = 5, discount: str = "Good-Turing") -> ClassModel:
    """Classes by the words two places before and after."""
    return ClassModel(found._replace(role="skip"), order, discount)


def _sharing(*contexts: Context) -> Setup:
    return beside(*(ClassModel(found, shares=contexts) for found in SIZES))


LADDER = ("2:0.75:160", "2:0.5:40", "2:0.25:10", "3:0.5:0.001")
MANY = (ExchangeClasses(50, 6), COARSE, ExchangeClasses(200, 5), MIDDLE, FINE, ExchangeClasses(1600, 4))
AGAIN = (ExchangeClasses(100, 11), ExchangeClasses(300, 12), ExchangeClasses(800, 13))
ONCE_MORE = (ExchangeClasses(100, 21), ExchangeClasses(300, 22), ExchangeClasses(800, 23))
LONG = tuple(found._replace(sweeps=40) for found in SIZES)
TWO_KINDS = tuple(make(found) for make in (ClassModel, one_sided) for found in SIZES)
#: Clusterings that err otherwise than the usual three.
COMPANIONS = (one_sided(MIDDLE), one_sided(FINE), skipping(MIDDLE))
CUT = "singletons cut from order 4"
HYBRIDS = (HybridModel(WORD_CLASSES), HybridModel(CLASS_WORD), HybridModel(CLASSES))

HYPOTHESES = (
    Hypothesis(
        "class orders above the word order",
        "classes are dense: longer contexts than the words' are still seen often enough",
        {f"class order {n}": beside(*classes(order=n)) for n in (4, 5, 6, 7)}
        | {"orders 7/6/5 of 100/300/800": beside(*(ClassModel(c, n) for c, n in zip(SIZES, (7, 6, 5), strict=True)))},
        beside(*classes(order=3)),
    ),
    Hypothesis(
        "number and sizes of clusterings",
        "clusterings from other starts and of other sizes err differently, so more are better; longer exchange less so",
        {
            "one, 300": beside(*classes([MIDDLE])),
            "one, 800": beside(*classes([FINE])),
            "two, 200/800": beside(*classes([ExchangeClasses(200, 5), FINE])),
            "three, 40 sweeps instead of 12": beside(*classes(LONG)),
            "three, 300/800/1600": beside(*classes([MIDDLE, FINE, ExchangeClasses(1600, 4)])),
            "four, 100/300/800/1600": beside(*classes([*SIZES, ExchangeClasses(1600, 4)])),
            "six, twice 100/300/800": beside(*classes([*SIZES, *AGAIN])),
            "six, 50 to 1600": beside(*classes(MANY)),
            "nine, three times 100/300/800": beside(*classes([*SIZES, *AGAIN, *ONCE_MORE])),
        },
    ),
    Hypothesis(
        "count cutoffs in class models",
        "class n-grams seen once are most of the model and say little",
        {name: beside(*classes(discount=name)) for name in DISCOUNTS if "cut" in name},
    ),
    Hypothesis(
        "hybrid contexts, in parallel",
        "a word after the exact nearest word and classes of older ones: neither part of the model can say that",
        {
            "+ P(w|c1)": with_more(HybridModel(NEAR_CLASS)),
            "+ P(w|w1 c2)": with_more(HybridModel(WORD_CLASS)),
            "+ P(w|w1 c2 c3)": with_more(HybridModel(WORD_CLASSES)),
            "+ P(w|c1 w2)": with_more(HybridModel(CLASS_WORD)),
            "+ P(w|c1 c2 c3 c4)": with_more(HybridModel(CLASSES)),
            "+ P(w|w1 c2 c3), P(w|c1 w2), P(w|c1 c2 c3 c4)": with_more(*HYBRIDS),
            "these three instead of class models": beside(*HYBRIDS),
        },
    ),
    Hypothesis(
        "a word's share of its class by context",
        "which word of a class comes depends on the context too",
        {
            "P(w|c, c1 of 100)": _sharing((_c(1, COARSE),), ()),
            "P(w|c, c1 c2 of 300)": _sharing((_c(1, MIDDLE), _c(2, MIDDLE)), (_c(1, MIDDLE),), ()),
            "P(w|c, w1)": _sharing((W1,), (_c(1, COARSE),), ()),
        },
    ),
    Hypothesis(
        "other kinds of classes",
        "what follows a word and what it follows are different questions; and older words are asked other things",
        {
            "one-sided: predicted words by what they follow, contexts by what follows": beside(*map(one_sided, SIZES)),
            "+ one-sided 300": with_more(one_sided(MIDDLE)),
            "+ 300 by words two places away": with_more(skipping(MIDDLE)),
            "+ usual 300 from another start": with_more(ClassModel(AGAIN[1])),
            "+ tapered: c800 after c800 c300 c100 c100 c100": with_more(ClassModel(FINE, contexts=TAPERED)),
            "six: three usual, one-sided 300/800, 300 by words two places away": with_more(*COMPANIONS),
            "six: three usual, three one-sided": with_more(*map(one_sided, SIZES)),
            "nine: three usual, three one-sided, three by words two places away": with_more(
                *map(one_sided, SIZES), *map(skipping, SIZES)
            ),
        },
    ),
    Hypothesis(
        "soft classes from the KL factors",
        "a word may belong to several classes; the low rank bigram says how much",
        {
            "+ rank 50": with_more(SoftClasses(1, 50)),
            "+ rank 200": with_more(SoftClasses(1, 200)),
            "+ rank 100 of w1 and of w2": with_more(SoftClasses(1, 100), SoftClasses(2, 100)),
            "rank 100 of w1 and w2 instead of classes": beside(SoftClasses(1, 100), SoftClasses(2, 100)),
        },
    ),
    Hypothesis(
        "fractional lower-order counts, words alone",
        "handing down what was taken makes the marginal constraint exact under modified discounts",
        {"Good-Turing": Setup(WordModel(fractional=True))},
        WORDS,
    ),
    Hypothesis(
        "fractional lower-order counts, with classes",
        "what helps the words alone should help beside classes",
        {"Good-Turing": replace(BASE, word=WordModel(fractional=True))},
    ),
    Hypothesis(
        "fitted and power-law discounts, words alone",
        "discounts grow with the count, and Good-Turing's are made for the same text",
        {
            "three steps, fitted": Setup(WordModel(3, "fitted")),
            "three steps, fitted, fractional counts": Setup(WordModel(3, "fitted", True)),
            "six steps, fitted": Setup(WordModel(3, "fitted, 6 steps")),
            "a c^b, fitted": Setup(WordModel(3, "fitted power")),
        },
        WORDS,
    ),
    Hypothesis(
        "fitted and power-law discounts, with classes",
        "what helps the words alone should help beside classes",
        {
            "three steps, fitted": replace(BASE, word=WordModel(3, "fitted")),
            "three steps, fitted, fractional counts": replace(BASE, word=WordModel(3, "fitted", True)),
            "a c^b, fitted": replace(BASE, word=WordModel(3, "fitted power")),
        },
    ),
    Hypothesis(
        "fitted discounts of the class models",
        "Good-Turing is off where counts are large",
        {
            "0.8 of Good-Turing's": beside(*classes(discount="Good-Turing x 0.8")),
            "1.2 of Good-Turing's": beside(*classes(discount="Good-Turing x 1.2")),
            "three steps": beside(*classes(discount="fitted")),
            "six steps": beside(*classes(discount="fitted, 6 steps")),
            "a c^b": beside(*classes(discount="fitted power")),
        },
    ),
    Hypothesis(
        "low rank layers beside classes",
        "both smooth unseen pairs of words; layers may know what hard classes do not",
        {
            "the paper's rungs": Setup(None, (Trained("plre", preset="paper"), *BASE.components)),
            "three bigram rungs, 160/40/10": Setup(None, (Trained("plre", rungs=LADDER), *BASE.components)),
        },
        Setup(None, (Trained("mkn"), *BASE.components)),
    ),
    Hypothesis(
        "longer word contexts",
        "beside class 5-grams the words' own longer contexts matter less",
        {f"word order {n}": replace(BASE, word=WordModel(n)) for n in (2, 4, 5)},
    ),
    Hypothesis(
        "all that won, together",
        "what helps by itself helps less in company",
        {
            "six clusterings of two kinds": beside(*TWO_KINDS),
            "the same, discounts of the classes fitted": beside(
                *(make(found, 5, "fitted") for make in (ClassModel, one_sided) for found in SIZES)
            ),
            "the same, singletons cut from order 4": beside(
                *(make(found, 5, CUT) for make in (ClassModel, one_sided) for found in SIZES)
            ),
            "six + P(w|w1 c2 c3)": beside(*TWO_KINDS, HYBRIDS[0]),
            "six + P(w|w1 c2 c3), word order 5": Setup(WordModel(5), (*TWO_KINDS, HYBRIDS[0])),
            "twelve clusterings of two kinds": beside(*TWO_KINDS, *classes(AGAIN), *map(one_sided, AGAIN)),
        },
    ),
)
