"""A model in words: what ``plre info`` prints."""

from __future__ import annotations

from plre.evaluation.report import signature
from plre.model.lm import LanguageModel


def describe_model(lm: LanguageModel) -> str:
    """How the model was made, what is in it and what takes the room."""
    about = lm.info()
    source = f"seen {about['min_count']} times or more" if about.get("min_count") else "from a list"
    vocabulary = f"{about['vocabulary']:,} words ({source}; <unk>, <s> and </s> included)"
    lines = [
        f"{lm.path or 'a model in memory'}",
        f"  method      {about['method']}" + (f", preset {about['preset']}" if about.get("preset") else ""),
        f"  order       {lm.order}",
        f"  vocabulary  {vocabulary}",
        f"  trained on  {about['tokens']:,} tokens"
        + (f", {about['sentences']:,} sentences" if lm.markers else ", one stream without sentence markers"),
    ]
    sizes = about["bytes"]
    total = sum(sizes.values())
    if about.get("bits", 32) < 32:
        lines.append(f"  quantised   {about['bits']} bits a probability")
    lines.append("  order      n-grams  bytes each  discounts            low rank layers (power, rank)")
    for n, (grams, discount) in enumerate(zip(about["ngrams"], about["discounts"], strict=True), 1):
        shown = " ".join(f"{d:.3f}" for d in discount) if isinstance(discount, list) else discount
        rungs = "; ".join(f"{power:g}, {rank}" for power, rank in about["rungs"].get(str(n), []))
        highest = f" (highest {int(lm.tensors[f'order{n}.rank'].max())})" if rungs else ""
        each = sum(size for name, size in sizes.items() if name.split(".")[0] == f"order{n}") / max(grams, 1)
        lines.append(f"  {n:>5} {grams:>12,} {each:>11.1f}  {shown:<19}  {rungs or '-'}{highest}")
    lines.append(
        f"  size        {total / 1e6:.1f} MB: " + ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sizes.items())
    )
    for trial in about.get("trials", []):
        ranks = ", ".join(f"order {n} {fraction:g}" for n, fraction in trial["fractions"].items())
        lines.append(f"  tried       {ranks}: dev perplexity {trial['perplexity']:.3f}")
    lines.append(f"  signature   {signature(lm)}")
    return "\n".join(lines)
