"""Table 3's form: training times, each model alone on all cores: `python -m experiments.table3`."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.common import one_after_another, plre_command, scratch, table
from experiments.common import LARGE, held_out, min_count, training_text, write
from plre.reporting import numbers
from plre.reporting.machine import describe_machine

#: Minutes that the paper's PLRE took on 8 processors.
PAPER = "Small-English 3.96 min, Small-Russian 4.0 min, Large-English 3.2 h, Large-Russian 8.3 h"
CASES = (("english", 3), ("russian", 3), (LARGE, 4))
MEMORY = "4G"
#: What is added to `plre train` for each row.
OURS = {
    "int-MKN": ("--method", "mkn"),
    "PLRE, one setting": ("--preset", "paper"),
    "PLRE, nine settings tried on dev": ("--preset", "paper", "--dev"),
    "class-based, 500 classes": ("--method", "class"),
}


def main() -> None:
    rows, data = [], []
    for corpus, order in CASES:
        text = training_text(corpus)
        times = {}
        with scratch() as place:
            for name, options in OURS.items():
                more = (*options, held_out(corpus, "valid")) if options[-1] == "--dev" else options
                where = ("-o", place / "model.plre", "-n", order, "--min-count", min_count(corpus))
                times[name] = plre_command("train", text, *where, *more, "-q").run()
            if peers.KENLM:
                commands = peers.kenlm_train(text, place / "model.bin", order, MEMORY)
                times["KenLM, lmplz + build_binary"] = one_after_another(commands)
        for name, usage in times.items():
            rows.append([corpus, order, name, numbers.seconds(usage.seconds), numbers.size(usage.peak)])
            data.append({"corpus": corpus, "order": order, "model": name, **vars(usage)})
    about = [
        f"Once each, on {describe_machine()}; reading the text and writing the model included.",
        peers.note("KenLM"),
        f"The paper's PLRE, on 8 processors of 2014: {PAPER}.",
    ]
    note = " ".join(filter(None, about))
    headings = ["corpus", "order", "model", "time", "memory"]
    write("table3", {"machine": describe_machine(), "times": data}, f"{note}\n\n{table(headings, rows)}")


if __name__ == "__main__":
    main()
