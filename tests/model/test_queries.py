from __future__ import annotations

import gc
import math
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import plre
from plre.errors import PlreError, TextError, UsageError
from plre.text import sources


@pytest.fixture(scope="module")
def lm(text: list[str]) -> plre.LanguageModel:
    return plre.train(text, order=3, rungs=["2:0.5:6", "3:0.5:1"])


def test_next_words_are_the_largest_of_the_distribution(lm: plre.LanguageModel) -> None:
    rows = lm.next_words(["w1"], k=5)
    probs = lm.distribution(["w1"])
    probs[[0, 1]] = 0
    assert [p for _, p in rows] == sorted(probs, reverse=True)[:5]
    assert all(lm.prob(word, ["w1"]) == pytest.approx(p) for word, p in rows)
    assert lm.next_words("w1", k=0) == []
    assert len(lm.next_words("w1", k=10**9)) == len(lm.vocab) - 2
    assert "<unk>" in dict(lm.next_words("w1", k=10**9, special=True))


def test_samples_follow_the_seed_and_the_model(lm: plre.LanguageModel) -> None:
    assert lm.sample(seed=3) == lm.sample(seed=3)
    assert lm.sample(["w1", "w2"], seed=1).startswith("w1 w2")
    assert "<unk>" not in " ".join(lm.sample(seed=s) for s in range(50))
    first = [lm.sample(seed=s, max_words=1) for s in range(2000)]
    probs = dict(lm.next_words(["<s>"], k=3))
    known = 1 - lm.prob("<unk>", ["<s>"])
    for word, p in probs.items():
        share = first.count("" if word == "</s>" else word) / len(first)
        assert share == pytest.approx(p / known, abs=4 * math.sqrt(p / len(first)))
    cold = {lm.sample(seed=s, temperature=t) for s in (1, 2) for t in (1e-3, 1e-9)}
    assert len(cold) == 1
    assert cold != {""}
    assert "<unk>" not in lm.sample(seed=1, temperature=1e9)
    assert lm.sample(["</s>", "w1", ""], seed=1).startswith("w1")
    for bad in (0, -1, math.inf, math.nan):
        with pytest.raises(UsageError, match="temperature"):
            lm.sample(temperature=bad)
    with pytest.raises(UsageError, match="seed"):
        lm.sample(seed=-1)


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_samples_of_many_components_follow_their_sum(text: list[str]) -> None:
    lm = plre.train(text, order=3, classes=[8, 20], contexts=["1:1,w:1,0:2"], discounts=["mkn"])
    count, context = 20_000, ["w1", "w2"]
    drawn = [line.split()[2:] for line in lm.samples(count, context, max_words=1, seed=4)]
    seen = Counter(line[0] if line else "</s>" for line in drawn)
    probs = lm.distribution(["<s>", *context])
    probs[[0, 1]] = 0
    probs /= probs.sum()
    assert set(seen) <= set(lm.vocab) - {"<unk>", "<s>"}
    often = [w for w in range(len(probs)) if probs[w] * count >= 5]
    expected = probs[often] * count
    found = np.array([seen[lm.vocab.word(w)] for w in often])
    chi = ((found - expected) ** 2 / expected).sum()
    assert chi < len(often) + 5 * math.sqrt(2 * len(often))


def test_a_context_that_was_not_asked_about_is_not_remembered(lm: plre.LanguageModel) -> None:
    expected = lm.distribution(["<s>"])
    for context in (["w1"], ["w2", "w3"]):
        lm.distribution(context)  # the room of a question has rows of another context now
        assert lm.sample(max_words=0) == ""
        np.testing.assert_array_equal(lm.distribution(["<s>"]), expected)


def test_words_of_all_kinds_step_alike(lm: plre.LanguageModel) -> None:
    class Text(str):
        __slots__ = ()

    state = lm.begin_state()
    number = lm.vocab["w1"]
    words = ("w1", Text("w1"), np.str_("w1"), number, np.int64(number), np.int32(number))
    steps = {lm.advance(state, word) for word in words}
    assert len(steps) == 1
    assert lm.advance(state, "\udcff") == lm.advance(state, "nobody knows") == lm.advance(state, 0)
    assert lm.advance(state, "") == lm.advance(state, "<unk>")
    for word in (-1, len(lm.vocab), 2**70, 1.5, None, b"w1"):
        with pytest.raises(UsageError, match="a word is given as a string, or as its id"):
            lm.advance(state, word)
        with pytest.raises(UsageError, match="neither a word nor the id"):
            lm.full_advance(state, word)
    for bad in (None, "w1", 5, b"abc", b"\xff" * 4, state * 99):
        for advance in (lm.advance, lm.full_advance):
            with pytest.raises(UsageError, match="not a state"):
                advance(bad, "w1")


def test_what_is_no_list_of_words_is_refused(lm: plre.LanguageModel) -> None:
    state = lm.begin_state()
    with pytest.raises(UsageError, match="a list of words"):
        lm.advance_many(state, "w1")
    with pytest.raises(UsageError, match="a list of words"):
        lm.advance_batch([state, state], "w1")
    for bad in (None, ["w1", "w2"]):
        with pytest.raises(UsageError, match="a sentence is one string"):
            lm.score_lines(["w1", bad])
    with pytest.raises(UsageError, match="neither a word nor the id"):
        lm.advance_many(state, [True])
    with pytest.raises(TypeError, match="asked for words"):
        lm.vocab[5]
    for ask in (lm.distribution, lm.next_words, lambda context: lm.prob("w1", context), lm.sample):
        for bad in (None, 5):
            with pytest.raises(UsageError, match="a context is"):
                ask(bad)


def test_what_is_no_whole_number_is_refused(lm: plre.LanguageModel) -> None:
    for bad in ("a", -1, 1.5, None, True):
        with pytest.raises(UsageError, match="k must be a whole number"):
            lm.next_words("w1", k=bad)
        with pytest.raises(UsageError, match="count must be a whole number"):
            lm.samples(bad)
    with pytest.raises(UsageError, match="seed must be a whole number"):
        lm.sample(seed="a")
    assert lm.next_words("w1", k=np.int64(2)) == lm.next_words("w1", k=2)


def test_a_model_is_gone_when_nobody_needs_it(text: list[str]) -> None:
    lm = plre.train(text, order=2, method="mkn")
    lm.advance(lm.begin_state(), "w1")
    seen = weakref.ref(lm)
    del lm
    assert seen() is None


def test_a_step_outlives_its_model_and_may_be_taken_out_before_it_is_used(text: list[str]) -> None:
    lm = plre.train(text, order=2, method="mkn")
    advance, begin = lm.advance, lm.begin_state()
    assert advance is lm.advance
    expected = advance(begin, "w1")
    del lm
    gc.collect()
    others = [plre.train(text, order=3, method="kn") for _ in range(2)]  # which would take the memory of the first
    assert advance(begin, "w1") == expected
    assert others[0].advance(others[0].begin_state(), "w1") != expected


def test_neighbours_share_contexts() -> None:
    text = [
        f"{a} {verb} {b}" for a in ("he", "she", "it") for b in ("home", "away") for verb in ("goes", "runs", "walks")
    ]
    text += [f"the {adjective} {noun}" for adjective in ("red", "green", "blue") for noun in ("car", "house", "tree")]
    with pytest.warns(plre.PlreWarning):
        lm = plre.train(text * 3, order=2, min_count=1, rungs=["2:0.5:6"])
    assert {word for word, _ in lm.neighbours("red", 2)} == {"green", "blue"}
    assert {word for word, _ in lm.neighbours("runs", 2)} == {"goes", "walks"}
    assert lm.neighbours("red", 1)[0][1] == pytest.approx(1, abs=1e-3)
    with pytest.raises(UsageError, match="does not know"):
        lm.neighbours("purple")


@pytest.mark.parametrize("options", [{"method": "mkn"}, {"rungs": ["2:0.5:1"]}, {"classes": [4]}], ids=str)
@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_neighbours_without_latent_classes_stand_beside_the_same_words(options: dict) -> None:
    text = [f"{a} {verb} {b}" for a in ("he", "she") for b in ("home", "away") for verb in ("goes", "runs", "walks")]
    text += [f"the {adjective} {noun}" for adjective in ("red", "green", "blue") for noun in ("car", "house")]
    lm = plre.train(text * 3, order=2, min_count=1, **options)
    assert {word for word, _ in lm.neighbours("red", 2)} == {"green", "blue"}
    assert {word for word, _ in lm.neighbours("runs", 2)} == {"goes", "walks"}


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_neighbours_need_bigrams(text: list[str]) -> None:
    with pytest.raises(UsageError, match="bigrams of words"):
        plre.train(text, method="mkn", order=1).neighbours("w1")
    with pytest.raises(UsageError, match="bigrams of words"):
        plre.train(text, method="class", classes=5, order=3).neighbours("w1")


def test_ngrams_are_what_was_seen(text: list[str]) -> None:
    lm = plre.train(text, order=3, method="mkn", min_count=1)
    seen = set()
    for line in text:
        words = ["<s>", *line.split(), "</s>"]
        seen |= {tuple(words[i : i + 3]) for i in range(len(words) - 2)}
    found = dict(lm.ngrams(3))
    assert set(found) == seen
    for *context, word in list(seen)[:500]:
        assert found[(*context, word)] == pytest.approx(lm.prob(word, context))
    assert {g[0] for g, _ in lm.ngrams(1)} == set(lm.vocab) - {"<s>"}
    with pytest.raises(UsageError, match="orders 1 to 3"):
        lm.ngrams(4)


def test_odd_questions(lm: plre.LanguageModel) -> None:
    assert lm.score("") == pytest.approx(math.log10(lm.prob("</s>", ["<s>"])))
    assert lm.score("", eos=False) == 0.0
    assert lm.prob("<s>", ["w1"]) == 0.0
    assert lm.prob("never", ["seen"]) == pytest.approx(lm.prob("<unk>", ["<unk>"]))
    assert lm.score("w1\nw2") == lm.score("w1 w2")
    assert lm.score("\udcff \x00 w1") < 0
    assert lm.score_lines([]).shape == (0,)
    assert lm.score_lines(iter(["w1", "w2\n"])).shape == (2,)
    assert lm.advance(lm.null_state(), "<s>")[0] == -math.inf
    np.testing.assert_array_equal(lm.distribution(["w3", "<s>"]), lm.distribution(["<s>"]))
    assert "w1" in lm
    assert "never" not in lm
    assert "order 3" in repr(lm)
    with pytest.raises(TextError, match="holds <s> or </s>"):
        lm.score("w1 </s>")
    with pytest.raises(TextError, match="line 2: holds"):
        lm.score_lines(["w1", "<s> w1"])
    with pytest.raises(PlreError, match="save it first"):
        lm.__reduce__()
    with pytest.raises(UsageError, match="list of lines"):
        lm.score_lines("w1 w2")
    with pytest.raises(UsageError, match="one string"):
        lm.score(["w1", "w2"])  # type: ignore[arg-type]
    for state in (2**30, -1, b"123", bytes(400), b"\xff" * 4, None, bytearray(4)):
        with pytest.raises(UsageError, match="not a state of this model"):
            lm.advance(state, "w1")
        with pytest.raises(UsageError, match="not a state of this model"):
            lm.context(state)


@pytest.mark.filterwarnings("ignore::plre.errors.PlreWarning")
def test_string_contexts_split_as_text_does() -> None:
    lm = plre.train(["x\u00a0y z", "y w"] * 3, min_count=1, method="kn", order=2)
    assert lm.prob("z", "x\u00a0y") == lm.prob("z", ["x\u00a0y"])
    assert lm.prob("z", "x\u00a0y") > lm.prob("z", "y")


def test_equal_states_have_equal_futures(text: list[str], other_text: list[str]) -> None:
    lm = plre.train(text, order=4, rungs=["2:0.5:4", "3:0.5:2", "4:0.5:1"])
    reached: dict[plre.State, list[str]] = {}
    shorter = 0
    for line in other_text:
        state, history = lm.begin_state(), ["<s>"]
        for word in line.split():
            _, state = lm.advance(state, word)
            history.append(word)
            known = lm.context(state)
            assert [w if w in lm else "<unk>" for w in history[len(history) - len(known) :]] == known
            shorter += len(known) < min(len(history), lm.order - 1)
            other = reached.setdefault(state, list(history))
            np.testing.assert_array_equal(lm.distribution(history), lm.distribution(other))
    assert shorter > 100


def test_threads_and_pieces_change_nothing(
    lm: plre.LanguageModel, text: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = text * 30
    whole = lm.tally(lines, threads=1)
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1000)
    parts = lm.tally(lines, threads=3)
    assert whole.counts.tolist() == parts.counts.tolist()
    assert whole.hits.tolist() == parts.hits.tolist()
    np.testing.assert_allclose(whole.logprob10, parts.logprob10, rtol=1e-12)
    np.testing.assert_array_equal(lm.score_lines(lines, threads=1), lm.score_lines(lines, threads=3))
    np.testing.assert_array_equal(np.concatenate(list(lm.score_text(lines))), lm.score_lines(lines))


def test_a_stream_has_no_seams(text: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lm = plre.train(text, order=4, method="kn", markers=False)
    whole = lm.perplexity(text)
    monkeypatch.setattr(sources, "BLOCK_BYTES", 300)
    assert lm.perplexity(text) == pytest.approx(whole, rel=1e-12)


def test_concurrent_callers(lm: plre.LanguageModel, text: list[str]) -> None:
    expected = [lm.score(line) for line in text]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lm.score, text)) == expected


def test_unseen_words_have_no_probability_without_the_uniform_share(text: list[str]) -> None:
    lm = plre.train(text, min_count=1, preset="paper", uniform=False)
    assert lm.prob("<unk>", ["w1"]) == 0.0
    assert lm.score("never") == -math.inf
    assert lm.distribution(["w1"]).sum() == pytest.approx(1, abs=1e-6)


def test_distributions_fill_a_table_that_is_given(lm: plre.LanguageModel) -> None:
    contexts = [[], ["w1"], ["w2", "w1"]]
    out = np.full((3, len(lm.vocab)), np.nan)
    assert lm.distributions(contexts, out=out) is out
    np.testing.assert_array_equal(out, lm.distributions(contexts))
    fixed = out.copy()
    fixed.flags.writeable = False
    for wrong in (out[:2], out.astype(np.float32), np.asfortranarray(out), fixed, [1.0]):
        with pytest.raises(plre.UsageError, match="must be a writable array"):
            lm.distributions(contexts, out=wrong)
