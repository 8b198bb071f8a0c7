from __future__ import annotations

import json
import math

import pytest

import plre
from plre.errors import PlreWarning, UsageError
from plre.evaluation.describe import describe_model
from plre.evaluation.report import render
from plre.evaluation.words import COLUMNS, WordLines


@pytest.fixture(scope="module")
def lm(text: list[str]) -> plre.LanguageModel:
    return plre.train(text, order=3, preset="paper")


LINES = ["w1 w2 never", "w3", "", "w5 w1 <unk>"]


def test_every_number_by_hand(lm: plre.LanguageModel) -> None:
    report = plre.evaluate(lm, LINES)
    known, unknown, ends = [], [], []
    for line in LINES:
        for word, (logprob, _, oov) in zip([*line.split(), "</s>"], lm.full_scores(line), strict=True):
            (ends if word == "</s>" else unknown if oov else known).append(logprob)
    assert (report.words, report.oov, report.sentences, report.tokens) == (7, 2, 4, 11)

    def perplexity(*parts: list[float]) -> float:
        chosen = [x for part in parts for x in part]
        return 10 ** (-math.fsum(chosen) / len(chosen))

    assert report.perplexity == pytest.approx(perplexity(known, unknown, ends))
    assert report.perplexity_excluding_oov == pytest.approx(perplexity(known, ends))
    assert report.perplexity_excluding_eos == pytest.approx(perplexity(known, unknown))
    assert report.perplexity_excluding_both == pytest.approx(perplexity(known))
    assert report.logprob10 == pytest.approx(math.fsum([*known, *unknown, *ends]))
    assert report.perplexity == pytest.approx(lm.perplexity(LINES))


def test_repr_is_a_line(lm: plre.LanguageModel) -> None:
    report = plre.evaluate(lm, LINES, name="dev.txt")
    expected = f"<plre.Report on dev.txt: perplexity {report.perplexity:.2f}, 11 tokens, 28.57% of words unknown>"
    assert repr(report) == expected


def test_json_has_what_was_agreed(lm: plre.LanguageModel) -> None:
    data = json.loads(render([plre.evaluate(lm, LINES)], "json"))
    for key in (
        "perplexity",
        "perplexity_excluding_oov",
        "perplexity_excluding_eos",
        "tokens",
        "sentences",
        "oov",
        "logprob10",
        "seconds",
        "signature",
    ):
        assert key in data
    assert sum(data["matched"].values()) == data["tokens"]


def test_several_texts_are_added_up(lm: plre.LanguageModel) -> None:
    reports = [plre.evaluate(lm, LINES[:2], name="a"), plre.evaluate(lm, LINES[2:], name="b")]
    data = json.loads(render(reports, "json"))
    assert data["perplexity"] == pytest.approx(lm.perplexity(LINES))
    assert [row["text"] for row in data["texts"]] == ["a", "b"]
    tsv = [line.split("\t") for line in render(reports, "tsv").splitlines()]
    assert [row[0] for row in tsv] == ["text", "a", "b", "all 2 texts"]
    assert len({len(row) for row in tsv}) == 1


def test_the_formats_of_other_tools(lm: plre.LanguageModel) -> None:
    report = plre.evaluate(lm, LINES, name="t")
    kenlm = dict(line.split("\t") for line in render([report], "kenlm").splitlines())
    assert float(kenlm["Perplexity including OOVs:"]) == report.perplexity
    assert (kenlm["OOVs:"], kenlm["Tokens:"]) == ("2", "11")
    srilm = render([report], "srilm")
    assert srilm.startswith("file t: 4 sentences, 7 words, 2 OOVs\n0 zeroprobs, logprob= ")
    assert f"ppl= {report.perplexity_excluding_oov:.7g} " in srilm


def test_text_names_every_count(lm: plre.LanguageModel) -> None:
    shown = str(plre.evaluate(lm, LINES))
    for label in (
        "excluding OOV",
        "excluding </s>",
        "signature",
        "longest n-gram matched",
        "28.57% of words",
    ):
        assert label in shown


def test_signature_says_how(lm: plre.LanguageModel, text: list[str]) -> None:
    signature = plre.evaluate(lm, LINES).signature
    assert signature.startswith(f"plre:{plre.__version__}|method:plre/paper|order:3|")
    assert "min_count:2|oov:unk|eos:counted|rungs:2:0.5:0.0005<=100,3:0.5:0.001<=100|seed:0|model:" in signature
    other = plre.train(text, order=3, method="mkn")
    assert plre.evaluate(other, LINES).signature != signature


def test_every_word(lm: plre.LanguageModel) -> None:
    lines: list[str] = []
    plre.evaluate(lm, LINES, also=WordLines(lm, lines.append))
    head, *rows = [line.split("\t") for line in lines]
    assert head == list(COLUMNS)
    assert [row[2] for row in rows[:5]] == [*LINES[0].split(), "</s>", LINES[1].split()[0]]
    assert [row[3] for row in rows[:4]] == ["0", "0", "1", "0"]
    assert [row[0] for row in rows] == ["1"] * 4 + ["2"] * 2 + ["3"] + ["4"] * 4
    assert [row[1] for row in rows[:6]] == ["1", "2", "3", "4", "1", "2"]
    assert sum(float(row[5]) for row in rows[:4]) == pytest.approx(lm.score(LINES[0]), abs=1e-5)
    assert [float(row[4]) for row in rows] == pytest.approx([-math.log2(10) * float(row[5]) for row in rows], abs=1e-4)
    sentences: list[str] = []
    plre.evaluate(lm, LINES, also=WordLines(lm, sentences.append, "kenlm"))
    assert len(sentences) == 4
    assert sentences[0].endswith(f"Total: {lm.score(LINES[0]):.7g} OOV: 1")


def test_description(lm: plre.LanguageModel) -> None:
    shown = describe_model(lm)
    assert "preset paper" in shown
    assert "0.5, 0.0005<=100 (highest 1)" in shown


def test_json_has_no_nan(lm: plre.LanguageModel) -> None:
    data = json.loads(render([plre.evaluate(lm, ["never", "seen"])], "json"), parse_constant=pytest.fail)
    assert data["perplexity_excluding_oov_and_eos"] is None


def test_a_stream_has_no_sentence_ends(text: list[str]) -> None:
    shown = str(plre.evaluate(plre.train(text, markers=False), LINES))
    assert "no </s> in a model without markers" in shown
    assert "excluding </s>" not in shown


def test_nothing_to_score(lm: plre.LanguageModel) -> None:
    with pytest.raises(plre.TextError, match="holds no words"):
        plre.evaluate(lm, [])


def test_a_damaged_model_is_noticed(text: list[str]) -> None:
    lm = plre.train(text, order=1, method="mkn", min_count=1)
    lm.components[0].body.tensors["unigrams"][3:] = float("nan")
    with pytest.warns(PlreWarning, match="plre verify"):
        plre.evaluate(lm, text)


def test_a_path_is_not_a_model() -> None:
    with pytest.raises(UsageError, match=r"plre\.load"):
        plre.evaluate("m.plre", ["a b"])  # type: ignore[arg-type]
