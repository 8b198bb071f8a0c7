from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import plre
from plre.cli.main import run


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, text: list[str], other_text: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "train.txt").write_text("\n".join(text) + "\n")
    (folder / "test.txt").write_text("\n".join(other_text) + "\n")
    return folder


@pytest.fixture(scope="module")
def model(files: Path) -> str:
    path = str(files / "m.plre")
    assert run(["train", str(files / "train.txt"), "-o", path, "-q", "--rung", "2:0.5:4", "--rung", "3:0.5:1"]) == 0
    return path


def test_train_says_what_it_made(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "m.plre"
    arguments = [
        "train",
        str(files / "train.txt"),
        "-o",
        str(out),
        "--order",
        "2",
        "--method",
        "mkn",
        "--min-count",
        "1",
    ]
    assert run(arguments) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "mkn, order 2," in shown.err
    assert plre.load(out).order == 2


def test_mix(files: Path, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    classes, out = str(tmp_path / "c.plre"), str(tmp_path / "mixed.plre")
    test = str(files / "test.txt")
    assert run(["train", str(files / "train.txt"), "-o", classes, "--method", "class", "--classes", "9", "-q"]) == 0
    capsys.readouterr()
    assert run(["mix", model, classes, "--dev", test, "-o", out]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "weights plre 0." in shown.err
    mixed = plre.load(out)
    assert mixed.perplexity(test) <= plre.load(model).perplexity(test) * (1 + 1e-6)
    assert run(["info", out]) == 0
    shown = capsys.readouterr()
    assert "method      plre+class" in shown.out
    assert "component 2  class, order 3, weight 0." in shown.out
    assert run(["eval", out, test, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["perplexity"] == pytest.approx(mixed.perplexity(test))
    assert run(["mix", model, classes, "--weights", "3,1", "-o", out, "-q"]) == 0
    assert plre.load(out).metadata["weights"] == [0.75, 0.25]
    capsys.readouterr()
    assert run(["mix", out, model, model, "--dev", str(files / "train.txt"), "-o", str(tmp_path / "more.plre")]) == 0
    assert "plre+class adds nothing to the others" in capsys.readouterr().err
    assert run(["mix", model, "-o", out]) == 2
    assert "two models or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--weights", "1,x"], "--weights takes numbers"),
        (["--weights", "1,1,1"], "2 models but 3 weights"),
        ([], "not both"),
        (["--dev", "no-such-file"], "no-such-file"),
    ],
)
def test_mix_refuses(
    model: str, tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["mix", model, model, "-o", str(tmp_path / "m.plre"), *options]) in (1, 2)
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m.plre").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["mix", "MODEL", "MODEL", "--dev", "victim.txt", "-o", "victim.txt"],
        ["train", "train.txt", "--dev", "vic[t]im.txt", "--method", "jm", "-o", "victim.txt"],
        ["train", "vic*.txt", "-o", "victim.txt"],
        ["cluster", "vic[t]im.txt", "-c", "2", "-o", "victim.txt"],
    ],
)
def test_texts_are_never_overwritten(
    command: list[str], files: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("train.txt", "victim.txt"):
        Path(name).write_text((files / "test.txt").read_text())
    assert run([model if word == "MODEL" else word for word in command]) == 2
    assert Path("victim.txt").read_text() == (files / "test.txt").read_text()


def test_mix_does_not_overwrite_its_models(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mix", model, model, "--weights", "1,1", "-o", model]) == 2
    assert "choose another name" in capsys.readouterr().err


def test_train_within_memory_and_quantised(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, out = str(files / "train.txt"), str(tmp_path / "m.plre")
    options = ["--method", "mkn", "--memory", "200M", "--tmp", str(tmp_path)]
    assert run(["train", text, "-o", out, *options, "--quantise", "8", "--dev", str(files / "test.txt")]) == 0
    shown = capsys.readouterr().err
    assert "8 bits a number" in shown
    assert "perplexity of the dev text" in shown
    assert run(["info", out]) == 0
    assert "8 bits a probability" in capsys.readouterr().out
    assert os.listdir(tmp_path) == ["m.plre"]
    assert run(["train", text, "-o", out, "--memory", "lots"]) == 2
    assert run(["train", text, "-o", out, "--memory", "1M"]) == 2
    assert run(["train", text, "-o", out, "--tmp", str(tmp_path / "none")]) == 2
    assert "is not a directory" in capsys.readouterr().err


def test_train_with_dev_and_rungs(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "m.plre")
    text, dev = str(files / "train.txt"), str(files / "test.txt")
    assert run(["train", text, "--preset", "paper", "--dev", dev, "-o", out]) == 0
    assert capsys.readouterr().err.count("dev perplexity") == 9
    assert run(["train", str(files / "train.txt"), "-o", out, "--rung", "2:0.75:8", "--rung", "2:0.5:2", "-q"]) == 0
    assert plre.load(out).metadata["rungs"] == {"2": [[0.75, "8"], [0.5, "2"]]}
    assert run(["info", out]) == 0
    assert "0.75, 8; 0.5, 2 (highest 10)" in capsys.readouterr().out


def test_eval_and_score(files: Path, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    lm = plre.load(model)
    test = str(files / "test.txt")
    assert run(["eval", model, test, "--format", "json", "-q"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["perplexity"] == pytest.approx(lm.perplexity(test))
    assert run(["score", model, test]) == 0
    scores = [float(x) for x in capsys.readouterr().out.split()]
    assert sum(scores) == pytest.approx(data["logprob10"], abs=1e-3)
    assert run(["eval", model, test, "--words", "--format", "tsv", "-q"]) == 0
    table, report = capsys.readouterr()
    assert table.count("\n") == data["tokens"] + 1
    assert report.startswith("text\tperplexity")
    assert run(["eval", model, test, "--words", "--format", "json", "-q"]) == 0
    *rows, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert len(rows) == data["tokens"]
    assert rows[0].keys() == {"sentence", "position", "word", "oov", "surprisal", "logprob10", "order"}
    assert last["perplexity"] == data["perplexity"]
    assert run(["eval", model, "-", "-"]) == 2
    assert "only once" in capsys.readouterr().err
    for style in ("text", "kenlm", "srilm"):
        assert run(["eval", model, test, test, "--format", style, "-q"]) == 0
        assert capsys.readouterr().out


def test_score_reads_standard_input(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"w1 w2\n\nw3"))))  # type: ignore[arg-type]
    assert run(["score", model]) == 0
    lm = plre.load(model)
    expected = [lm.score(line) for line in ("w1 w2", "", "w3")]
    assert [float(x) for x in capsys.readouterr().out.split()] == pytest.approx(expected, abs=1e-5)


def test_next_sample_neighbours_info(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["next", model, "w1", "-k", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert run(["next", model, "--format", "json", "-k", "2"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    assert run(["neighbours", model, "w1", "-k", "3", "--format", "tsv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert run(["sample", model, "-n", "4", "--seed", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert run(["info", model]) == 0
    assert "vocabulary" in capsys.readouterr().out
    assert run(["info", model, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["order"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train"], 2, "Missing"),
        (["nonsense"], 2, "No such command"),
        (["train", "{}/none.txt", "-o", "{}/x.plre"], 1, "no such file"),
        (["train", "{}/train.txt", "-o", "{}/no/x.plre"], 2, "no directory"),
        (["train", "{}/train.txt", "-o", "{}"], 2, "is a directory"),
        (["train", "{}/train.txt", "-o", "{}/x.plre", "--order", "0"], 2, "between 1 and 64"),
        (["train", "{}/train.txt", "-o", "{}/x.plre", "--rung", "2:5"], 2, "ORDER:POWER:RANK"),
        (["train", "{}/train.txt", "-o", "{}/x.plre", "--vocab", "{}/none"], 1, "no such file"),
        (["eval", "{}/none.plre", "{}/test.txt"], 1, "no such file; make a model"),
        (["eval", "{}/train.txt", "{}/test.txt"], 1, "looks like text"),
        (["train", "{}/train.txt", "-o", "/dev/null"], 2, "is a device"),
        (["train", "{}/train.txt", "-o", "{}/train.txt"], 2, "is read too"),
        (["train", "{}/train.txt", "-o", ""], 2, "name of the model file is empty"),
        (["train", "-", "--dev", "-", "-o", "{}/x.plre"], 2, "only once"),
        (["train", "{}/train.txt", "--dev", "{}/none", "-o", "{}/x.plre"], 1, "no such file"),
        (["train", "{}/train.txt", "-o", "{}/x.plre", "--vocab", "{}/test.txt", "--min-count", "1"], 2, "not both"),
        (["train", "{}/train.txt", "-o", "{}/x.plre", "--seed", "-1"], 2, "seed must be"),
        (["sample", "{}/m.plre", "--seed", "-1"], 2, "seed must be"),
        (["eval", "{}", "{}/test.txt"], 1, "is a directory"),
        (["eval", "/dev/zero", "{}/test.txt"], 1, "must be a file"),
        (["eval", "{}/m.plre", "{}/../*"], 1, "only directories"),
        (["neighbours", "{}/m.plre", "never"], 2, "does not know"),
    ],
)
def test_errors_are_one_line_and_an_exit_code(
    files: Path, model: str, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert run([argument.replace("{}", str(files)) for argument in arguments]) == code
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert not (files / "x.plre").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["train", "no-such-text", "-o", "/proc/m.plre"],
        ["tune", "no-such-text", "--dev", "no-such-text", "-o", "/proc/m.plre"],
        ["mix", "no-such-model", "no-such-model", "--weights", "1,1", "-o", "/proc/m.plre"],
        ["prune", "no-such-model", "--size", "1M", "-o", "/proc/m.plre"],
        ["cluster", "no-such-text", "-o", "/proc/classes.tsv"],
        ["demo", "-o", "/proc/m.plre"],
    ],
)
def test_an_output_that_cannot_be_written_is_noticed_first(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Before any text or model is read: there are none here."""
    assert run(command) == 2
    assert f"{command[-1]}: no file can be made in /proc" in capsys.readouterr().err


def test_a_comparison_needs_a_folder_that_it_can_write_to(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(folder: object, name: str | None = None) -> None:
        raise plre.UsageError(f"{folder}: no file can be made in it")

    monkeypatch.setattr("plre.comparison.store.check_writable_folder", refuse)
    texts = [word for name in ("train", "dev", "test") for word in (f"--{name}", str(files / "test.txt"))]
    assert run(["compare", *texts, "-o", str(tmp_path / "out")]) == 2
    assert "no file can be made" in capsys.readouterr().err
    assert not list((tmp_path / "out" / "models").iterdir())


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied", "dev.txt"), "error: dev.txt: Permission denied"),
        (OSError(24, "Too many open files", b"dev.txt"), "error: dev.txt: Too many open files"),
        (OSError(28, "No space left on device"), "error: the output could not be written (No space left on device)"),
        (OSError(5, "Input/output error"), "error: the system refused to read or write (Input/output error)"),
        (OSError("odd"), "error: the system refused to read or write (odd)"),
        (OSError(12, "Cannot allocate memory"), "error: not enough memory for this"),
        (MemoryError(), "error: not enough memory for this"),
    ],
)
def test_errors_of_the_system_say_what_they_are_about(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(path: str) -> None:
        raise error

    monkeypatch.setattr("plre.model.lm.LanguageModel.load", fail)
    assert run(["info", "m.plre"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(message)
    assert shown.count("\n") == 1


def test_python_dash_m(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "plre", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"plre, version {plre.__version__}\n"
    done = subprocess.run([sys.executable, "-m", "plre", "train"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Usage: plre train" in done.stderr


def test_a_closed_standard_output_is_no_error() -> None:
    command = f"{sys.executable} -m plre --version >&-"
    assert subprocess.run(["bash", "-c", command], capture_output=True, check=False).returncode == 0


def test_help_says_what_is_so(capsys: pytest.CaptureFixture[str]) -> None:
    for command, words in (
        ("neighbours", "how much alike they are, from 0 to 1"),
        ("prune", "chains of contexts"),
        ("train", "How much smaller"),
    ):
        assert run([command, "--help"]) == 0
        assert words in " ".join(capsys.readouterr().out.split())


def test_warnings_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t").write_text("a b c\n")
    script = "from plre.cli.main import main; main()"
    shown = subprocess.run(
        [
            sys.executable,
            "-c",
            script,
            "train",
            str(tmp_path / "t"),
            "-o",
            str(tmp_path / "m"),
            "-q",
            "--min-count",
            "1",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stderr.startswith("warning: no discounts can be estimated for orders 1 to 3 (too little")
    assert shown.stderr.count("\n") == 1


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in ("demo", "train", "eval", "score", "next", "sample", "neighbours", "info"):
        assert f"\n  {command} " in shown
        assert run([command, "--help"]) == 0


def test_interrupt_stops_cleanly(tmp_path: Path) -> None:
    """Ctrl-C while text is still coming in: no model, no temporary files, a clear word."""
    script = "from plre.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, "train", "-", "-o", str(tmp_path / "m.plre")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdin is not None
    process.stdin.write(b"some words\n" * 1000)
    process.stdin.flush()
    time.sleep(3)  # any moment will do; this is most likely while it waits for more text
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.endswith(b"stopped\n")
    assert os.listdir(tmp_path) == []


def test_a_closed_pipe_is_no_error(model: str, files: Path) -> None:
    script = "from plre.cli.main import main; main()"
    command = f"{sys.executable} -c '{script}' eval {model} {files}/train.txt --words -q | head -n 1"
    shown = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    assert shown.stderr == ""


def test_compiling_is_announced(tmp_path: Path, files: Path) -> None:
    """With an empty cache the first command says that it compiles; with a warm one it does not."""
    script = "from plre.cli.main import main; main()"
    command = [
        sys.executable,
        "-c",
        script,
        "train",
        str(files / "train.txt"),
        "-o",
        str(tmp_path / "m"),
        "--method",
        "kn",
    ]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    shown = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr for _ in range(2)
    ]
    assert "compiling for this machine (once; kept in" in shown[0]
    assert "compiling for" not in shown[1]


MAIN = [sys.executable, "-c", "from plre.cli.main import main; main()"]


def test_pipes_as_files(files: Path, model: str, tmp_path: Path) -> None:
    """Process substitution, the idiom of shell scripts: a text may be a pipe, for training, dev and scoring."""
    train, test, out = files / "train.txt", files / "test.txt", tmp_path / "m.plre"
    plre_ = " ".join([MAIN[0], "-c", f"'{MAIN[2]}'"])
    for command in (
        f"{plre_} train <(cat {train}) --dev <(gzip -c {test}) -o {out} -q",
        f"cat {test} | {plre_} train {train} --dev - -o {out} -q",
        f"{plre_} eval {model} <(cat {test}) -q",
    ):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_score_answers_line_by_line(model: str) -> None:
    """A program that writes a line and waits for its score gets it."""
    process = subprocess.Popen([*MAIN, "score", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    lm = plre.load(model)
    for line in ("w1 w2", "w3"):
        process.stdin.write(f"{line}\n".encode())
        process.stdin.flush()
        assert float(process.stdout.readline()) == pytest.approx(lm.score(line), abs=1e-5)
    process.stdin.close()
    assert process.wait(timeout=30) == 0
    process.stdout.close()


def test_a_full_disk_is_one_line(model: str, files: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*MAIN, "next", model, "w1"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["error: the output could not be written (No space left on device)"]


def test_a_narrow_encoding_still_prints(model: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*MAIN, "next", model, "w1"], env=environment, capture_output=True, check=False)
    assert done.returncode == 0


def test_verify(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", model]) == 0
    assert "undamaged" in capsys.readouterr().out
    data = bytearray(Path(model).read_bytes())
    data[-1000] ^= 1
    (tmp_path / "bad.plre").write_bytes(data)
    assert run(["verify", str(tmp_path / "bad.plre")]) == 1
    assert "was damaged" in capsys.readouterr().err
