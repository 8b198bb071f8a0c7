"""Models in ESPnet's beam search and in transformers; both need PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import plre

torch: Any = pytest.importorskip("torch")


def test_espnet_scores_the_whole_vocabulary(text: list[str]) -> None:
    from plre.integrations.espnet import PlreScorer

    lm = plre.train(text, order=3, method="mkn")
    tokens = ["<blank>", *(lm.vocab.word(w) for w in range(3, 30)), "zzzz", "<sos/eos>"]
    scorer = PlreScorer(lm, tokens)
    ys = torch.tensor([[len(tokens) - 1, 1, 4], [len(tokens) - 1, 2, 2]])
    scores, states = scorer.batch_score(ys, [None, None], None)
    assert scores.shape == (2, len(tokens))
    assert len(states) == 2
    for y, row in zip(ys, scores, strict=True):
        context = ["<s>", *(tokens[int(k)] for k in y[1:])]
        for number in (1, 7, 20):
            assert float(row[number]) == pytest.approx(np.log(lm.prob(tokens[number], context)), rel=1e-5)
        assert float(row[-1]) == pytest.approx(np.log(lm.prob("</s>", context)), rel=1e-5)
        assert float(row[-2]) == pytest.approx(np.log(lm.share_unknown().prob("zzzz", context)), rel=1e-5)
        np.testing.assert_allclose(scorer.score(y, None)[0], row)
        some = torch.tensor([3, 5])
        np.testing.assert_allclose(scorer.score_partial(y, some, None)[0], row[some])


def test_shallow_fusion_and_drafts() -> None:
    pytest.importorskip("transformers")
    from plre.integrations.transformers import PlreLogitsProcessor, TokenModel

    rng = np.random.default_rng(0)
    ids = np.minimum(rng.zipf(1.5, 9_000) - 1, 49).astype(np.uint16)
    lm = plre.train(plre.Tokens(ids, end=0), order=3, method="jm")
    fused = PlreLogitsProcessor(lm, weight=0.5)
    rows = torch.tensor([[5, 0, 3, 2], [1, 1, 4, 2]])
    scores = fused(rows, torch.zeros(2, 60))
    assert float(scores[0, 7]) == pytest.approx(0.5 * np.log(lm.prob("7", ["<s>", "3", "2"])), rel=1e-5)
    assert float(scores[0, 0]) == pytest.approx(0.5 * np.log(lm.prob("</s>", ["<s>", "3", "2"])), rel=1e-5)
    assert float(scores[1, 7]) == pytest.approx(0.5 * np.log(lm.prob("7", ["4", "2"])), rel=1e-5)
    assert float(scores[1, 55]) == pytest.approx(-15)
    drafts = TokenModel(lm).continuations([5, 3], k=3, length=2)
    assert len(drafts) == 3
    assert drafts[0][1] >= drafts[1][1] >= drafts[2][1]
    first = TokenModel(lm).log_probs([[5, 3]], 50)[0]
    assert TokenModel(lm).continuations([5, 3], k=1, length=1)[0][0] == [int(np.argmax(first))]
