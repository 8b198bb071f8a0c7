"""What every model must do, whatever the method: one list of tests that all of them pass."""

from __future__ import annotations

import copy
import math
import pickle
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import plre
from tests.component_models import bytes_of
from tests.conftest import zipf_text

METHODS: dict[str, dict] = {
    "abs": {"method": "abs"},
    "kn": {"method": "kn"},
    "mkn": {"method": "mkn"},
    "bo-kn": {"method": "bo-kn"},
    "bo-mkn": {"method": "bo-mkn"},
    "mkn-dev": {"method": "mkn-dev"},
    "jm": {"method": "jm"},
    "class": {"method": "class", "classes": 20},
    "mixed": {},
    "pruned bo-kn": {"of": "bo-kn"},
    "pruned ladder": {"of": "ladder"},
    "pruned mixed": {"of": "mixed"},
    "paper": {"preset": "paper"},
    "fast": {"preset": "fast"},
    "contexts": {"classes": [12, 30], "contexts": ["2:1,w:1,1:2,1:3", "1:1,1:2"], "discounts": ["mkn"]},
    "best": {"preset": "best"},
    "pruned best": {"of": "best"},
    "mixed best": {},
    "ladder": {
        "method": "plre",
        "rungs": ["2:0.75:12", "2:0.5:5", "2:0.25:2", "3:0.5:3", "4:0.6:2", "4:0.3:1", "5:0.5:2"],
    },
}
ORDERS = [1, 2, 3, 4, 5]
pytestmark = pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")


def train(method: str, order: int, text: list[str], **more: object) -> plre.LanguageModel:
    if method == "mixed":
        return plre.mix([train(each, order, text, **more) for each in ("mkn", "class")], weights=[0.7, 0.3])
    if method == "mixed best":
        return plre.mix([train(each, order, text, **more) for each in ("fast", "mkn", "best")], weights=[0.3, 0.1, 0.6])
    options = dict(METHODS[method])
    if "of" in options:
        return plre.prune(train(options["of"], order, text, **more), threshold=5e-5, threads=more.get("threads"))  # type: ignore[arg-type]
    if "rungs" in options:
        options["rungs"] = [r for r in options["rungs"] if int(r[0]) <= order]
    if method == "mkn-dev":
        options["dev"] = zipf_text(30, seed=3)
    return plre.train(text, order=order, **options, **more)


def cases() -> list[tuple[str, int]]:
    """All methods at all orders; those that are made of others at some."""
    made_of_others = [method for method, options in METHODS.items() if not options or "of" in options]
    return [(m, n) for m in METHODS for n in ORDERS if m not in made_of_others or n in (1, 3, 4)]


@pytest.fixture(scope="module", params=cases(), ids=lambda p: f"{p[0]}-{p[1]}")
def lm(request: pytest.FixtureRequest, text: list[str]) -> plre.LanguageModel:
    return train(*request.param, text)


def contexts(text: list[str], vocab: list[str], order: int, number: int) -> dict[str, list[list[str]]]:
    """Contexts of every kind, ``number`` of each: seen, seen once, unseen, and at the start of a sentence."""
    draw = random.Random(0)
    n = max(order - 1, 1)
    lines = [line.split() for line in text]
    windows = [tuple(line[i : i + n]) for line in lines for i in range(len(line) - n + 1)]
    times = Counter(windows)
    rare = [list(w) for w in windows if times[w] == 1]
    words = [w for w in vocab if w not in ("<s>", "</s>")]
    unseen: list[list[str]] = []
    while len(unseen) < number:
        context = draw.choices(words, k=n)
        if tuple(context) not in times or n == 1:
            unseen.append(context)
    starts = [["<s>", *draw.choice(lines)[: draw.randrange(n)]] for _ in range(number // 2)]
    starts += [["<s>", *draw.choices(words, k=draw.randrange(n))] for _ in range(number - number // 2)]
    return {
        "seen": [list(draw.choice(windows)) for _ in range(number)],
        "rare": [draw.choice(rare or [list(windows[-1])]) for _ in range(number)],
        "unseen": unseen,
        "start": starts,
    }


def test_sums_to_one(lm: plre.LanguageModel, text: list[str]) -> None:
    for kind, chosen in contexts(text, list(lm.vocab), lm.order, 1000).items():
        worst = max(abs(lm.distribution(context).sum() - 1) for context in chosen)
        assert worst < 1e-6, kind


def test_no_probability_is_zero_or_negative(lm: plre.LanguageModel, text: list[str]) -> None:
    for chosen in contexts(text, list(lm.vocab), lm.order, 20).values():
        for context in chosen:
            probs = lm.distribution(context)
            assert probs[1] == 0.0
            assert (np.delete(probs, 1) > 0).all()


def test_word_by_word_sentence_and_lines_agree(lm: plre.LanguageModel, other_text: list[str]) -> None:
    lines = [*other_text, "", "never seen words", "w1", "<unk> w2"]
    scores = lm.score_lines(lines)
    for line, score in zip(lines, scores, strict=True):
        assert lm.score(line) == pytest.approx(score, abs=1e-9)
        full = list(lm.full_scores(line))
        assert sum(x for x, _, _ in full) == pytest.approx(score, abs=1e-9)
        state, total = lm.begin_state(), 0.0
        history = ["<s>"]
        for word, (logprob, matched, oov) in zip([*line.split(), "</s>"], full, strict=True):
            assert lm.prob(word, history) == pytest.approx(10**logprob)
            assert oov == (word not in lm.vocab or word == "<unk>")
            assert 1 <= matched <= lm.order
            step, state = lm.advance(state, word)
            assert step == pytest.approx(logprob, abs=1e-9)
            total += step
            history.append(word)
        assert total == pytest.approx(score, abs=1e-9)


def test_beginning_and_end_are_optional(lm: plre.LanguageModel) -> None:
    whole = lm.score("w1 w2")
    assert lm.score("w1 w2", eos=False) + math.log10(lm.prob("</s>", ["<s>", "w1", "w2"])) == pytest.approx(whole)
    inner = math.log10(lm.prob("w1")) + math.log10(lm.prob("w2", ["w1"]))
    assert lm.score("w1 w2", bos=False, eos=False) == pytest.approx(inner)
    for bos in (True, False):
        for eos in (True, False):
            single = [lm.score(line, bos, eos) for line in ("w1 w2", "w3", "")]
            np.testing.assert_allclose(lm.score_lines(["w1 w2", "w3", ""], bos, eos), single, atol=1e-9)


def test_longer_contexts_are_cut(lm: plre.LanguageModel) -> None:
    long = ["w9", "w8", "w7", "w6", "w5", "w1", "w2", "w3", "w1"]
    kept = long[-(lm.reach - 1) :] if lm.reach > 1 else []
    np.testing.assert_array_equal(lm.distribution(long), lm.distribution(kept))
    np.testing.assert_array_equal(lm.distribution(" ".join(long)), lm.distribution(kept))


def test_save_load_pickle(lm: plre.LanguageModel, other_text: list[str], tmp_path: Path) -> None:
    path = tmp_path / "m.plre"
    lm.save(path)
    again = plre.load(path)
    np.testing.assert_array_equal(lm.score_lines(other_text), again.score_lines(other_text))
    assert again.info() == lm.info()
    copied = pickle.loads(pickle.dumps(again))
    assert copied.score("w1 w2") == lm.score("w1 w2")
    second = tmp_path / "again.plre"
    again.save(second)
    assert second.read_bytes() == path.read_bytes()


def test_states_are_values(lm: plre.LanguageModel) -> None:
    _, a = lm.advance(lm.begin_state(), "w1")
    _, b = lm.advance(lm.begin_state(), "w1")
    assert a == b
    assert hash(a) == hash(b)
    assert copy.deepcopy(a) == a == copy.copy(a) == pickle.loads(pickle.dumps(a))
    assert len({a, b, lm.begin_state(), lm.null_state()}) <= 3
    assert len(lm.context(a)) <= lm.reach - 1


def test_questions_in_any_order_are_answered_alike(lm: plre.LanguageModel, other_text: list[str]) -> None:
    """A step remembers its context: questions that come in between must not be noticed."""
    draw = random.Random(1)
    asked = {}
    for line in other_text[:20]:
        state = lm.begin_state()
        for word in line.split():
            asked[state, word] = lm.advance(state, word)
            state = asked[state, word][1]
    chosen = draw.choices(list(asked), k=600)
    for state, word in chosen:
        kind = draw.randrange(8)
        if kind == 0:
            lm.score("w3 w1 w2")
        elif kind == 1:
            lm.distribution(state)
        elif kind == 2:
            lm.sample(seed=1, max_words=2)
        elif kind == 3:
            with pytest.raises(plre.UsageError):
                lm.advance(state + b"\xff\xff\xff\x7f", word)
        assert lm.advance(state, word) == asked[state, word]
    states, words = zip(*chosen, strict=True)
    logprobs, after = lm.advance_batch(states, words)
    expected = [asked[each] for each in chosen]
    np.testing.assert_allclose(logprobs, [logprob for logprob, _ in expected], rtol=1e-14)
    assert after == [state for _, state in expected]


# "mixed best" has both presets in it.
@pytest.mark.parametrize("method", [method for method in METHODS if method not in ("fast", "best", "pruned best")])
def test_same_bytes_for_any_number_of_threads_and_for_two_runs(method: str, tmp_path: Path) -> None:
    # More than one block of text, so that threads share the reading too.
    text = zipf_text(4000, words=3000) * 40
    files = []
    for i, threads in enumerate([1, 2, 3, 2]):
        files.append(tmp_path / f"{i}.plre")
        train(method, 4, text, threads=threads).save(files[-1])
    assert len({file.read_bytes() for file in files}) == 1


def test_seed_changes_only_what_starts_at_random(text: list[str]) -> None:
    methods = ("mkn", "ladder", "class")
    made = {m: {bytes_of(train(m, 3, text, seed=s)) for s in (0, 1)} for m in methods}
    assert [len(made[m]) for m in methods] == [1, 2, 2]


@pytest.mark.parametrize("method", list(METHODS))
def test_without_markers(method: str, text: list[str], other_text: list[str]) -> None:
    lm = train(method, 3, text, markers=False)
    for context in ([], ["w1"], ["w1", "w2"], ["w77", "w78"]):
        probs = lm.distribution(context)
        assert probs.sum() == pytest.approx(1, abs=1e-6)
        assert probs[2] == 0
    assert lm.score("w1 w2") == pytest.approx(math.log10(lm.prob("w1") * lm.prob("w2", ["w1"])))
    np.testing.assert_allclose(lm.score_lines(["w1 w2", "w3"]), [lm.score("w1 w2"), lm.score("w3")])
    words = " ".join(other_text).split()
    expected = lm.score(" ".join(words))
    assert lm.perplexity(other_text) == pytest.approx(10 ** (-expected / len(words)))
    assert len(lm.sample(max_words=7, seed=1).split()) == 7
    assert "</s>" not in dict(lm.next_words([], 10**6))


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize(
    "text",
    [
        ["a b c", "a b", "b c a"],
        ["the same words again"] * 9,
        [" ".join("characters"), " ".join("are fine too")],
        ["word"],
    ],
    ids=["three", "repeated", "characters", "one"],
)
def test_tiny_text(method: str, text: list[str]) -> None:
    for order in (1, 2, 3, 9):
        lm = train(method, order, text, min_count=1)
        for context in ([], ["a"], ["a", "b"], ["<s>"], ["zzz"]):
            assert lm.distribution(context).sum() == pytest.approx(1, abs=1e-6)
        assert lm.score(text[0]) < 0
        assert lm.perplexity(text) > 1


def test_everything_is_unknown() -> None:
    lm = plre.train(["each word once only"], min_count=2, order=3)
    assert list(lm.vocab) == ["<unk>", "<s>", "</s>"]
    assert lm.distribution(["x"]).sum() == pytest.approx(1, abs=1e-6)
