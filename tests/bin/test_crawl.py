"""bin/crawl: the order of stages, every option, .STOP, exit codes and signals, over stand-ins for the stages."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("bin_project", Path(__file__).with_name("project.py"))
assert _SPEC is not None
project = importlib.util.module_from_spec(_SPEC)
assert _SPEC.loader is not None
_SPEC.loader.exec_module(project)

Mortal = Callable[..., "subprocess.Popen[str]"]

# An "environment" whose interpreter notes each nutchpy command and then does what a file of that name says.
INTERPRETER = """#!/bin/sh
[ "$1" = -I ] && exit 0
shift 5
case $1 in conf | unfinished) ;; *) printf '%s\\n' "$*" >>"$STAGES/log" ;; esac
[ ! -f "$STAGES/$1" ] || . "$STAGES/$1"
"""
GENERATE = """
n=$(grep -c '^generate' "$STAGES/log")
[ "$n" -le "${LAST:-99}" ] || exit 1
echo "$CRAWL/segments/$n"
"""


class Stages:
    """The stand-ins, and what was asked of them."""

    def __init__(self, folder: Path, mortal: Mortal) -> None:
        self.folder = folder
        self.mortal = mortal
        self.crawl = folder / "抓取 目录"
        python = folder / "env" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(INTERPRETER)
        python.chmod(0o755)
        self.does("generate", GENERATE)

    def does(self, stage: str, script: str) -> None:
        """Let a stage run this."""
        (self.folder / stage).write_text(script)

    def env(self, **more: str) -> dict[str, str]:
        here = {"NUTCHPY_VENV": str(self.folder / "env"), "STAGES": str(self.folder), "CRAWL": str(self.crawl)}
        return {"PATH": os.environ["PATH"], "LANG": "C", **here, **more}

    def run(self, *words: str, cwd: str | Path = "/", **env: str) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = project.run(
            project.BIN / "crawl", *words, cwd=cwd, env=self.env(**env)
        )
        return done

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [project.BIN / "crawl", *words]
        return self.mortal(subprocess.Popen(command, env=self.env(), stderr=subprocess.PIPE, text=True))

    @property
    def log(self) -> list[str]:
        """The commands, the crawl's path made short."""
        path = self.folder / "log"
        return path.read_text().replace(str(self.crawl), "C").splitlines() if path.exists() else []

    @property
    def names(self) -> list[str]:
        return [line.split()[0] for line in self.log]

    def until(self, name: str) -> None:
        deadline = time.monotonic() + 10
        while name not in self.names:
            assert time.monotonic() < deadline, f"{name} never began: {self.names}"
            time.sleep(0.02)


ROUND = ["generate", "fetch", "parse", "updatedb", "invertlinks", "dedup"]
LIMIT = "-D fetcher.timelimit.mins=180 --wait-lock 30"


@pytest.fixture
def stages(tmp_path: Path, mortal: Mortal) -> Stages:
    return Stages(tmp_path, mortal)


def test_rounds_run_nutchs_stages_in_order(stages: Stages, tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    done = stages.run("-s", str(tmp_path / "seeds"), str(stages.crawl), "2")
    assert done.returncode == 0
    assert stages.names == ["inject", *ROUND, *ROUND]
    assert stages.log[:7] == [
        f"inject {LIMIT} C/crawldb {tmp_path}/seeds",
        f"generate {LIMIT} C/crawldb C/segments -topN 50000 -numFetchers 1 -noFilter",
        f"fetch {LIMIT} C/segments/1 -threads 50",
        f"parse {LIMIT} C/segments/1",
        f"updatedb {LIMIT} C/crawldb C/segments/1",
        f"invertlinks {LIMIT} C/linkdb C/segments/1 -noNormalize -noFilter",
        f"dedup {LIMIT} C/crawldb -group none",
    ]
    assert done.stdout == ""
    assert "2 rounds done" in done.stderr


def test_options_reach_their_stages(stages: Stages) -> None:
    stages.run(
        *("-D", "http.agent.name=my crawler", "-Da.b=c", "--num-slaves", "3", "--num-threads=7", "--num-tasks", "2"),
        *(
            "--size-fetchlist",
            "10",
            "--time-limit-fetch",
            "-1",
            "--dedup-group",
            "host",
            "--sitemaps-from-hostdb",
            "never",
        ),
        *(str(stages.crawl), "1", "--wait-lock", "0"),
    )
    settings = (
        "-D fetcher.timelimit.mins=180 -D http.agent.name=my crawler -D a.b=c "
        "-D parse.workers=2 -D db.threads=2 -D fetcher.timelimit.mins=-1 --wait-lock 0"
    )
    assert stages.log[0] == f"generate {settings} C/crawldb C/segments -topN 10 -numFetchers 3 -noFilter"
    assert stages.log[1] == f"fetch {settings} C/segments/1 -threads 7"
    assert stages.log[-1] == f"dedup {settings} C/crawldb -group host"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-i"], "-i: this version has no index stage"),
        (["--index"], "--index: this version has no index stage"),
        (["-sm", "maps"], "-sm: this version has no sitemap stage"),
        (["--hostdbupdate"], "--hostdbupdate: this version has no hostdb stage"),
        (["--hostdbgenerate"], "--hostdbgenerate: this version has no hostdb stage"),
        (["--sitemaps-from-hostdb", "always"], "--sitemaps-from-hostdb: this version has no sitemap stage"),
        (["--num-thread", "3"], "unknown option --num-thread"),
        (["--num-threads"], "--num-threads needs a value"),
        (["--num-threads", "many"], "--num-threads: expected a whole number above 0, got 'many'"),
        (["--wait", "soon"], "--wait: expected a number with s, m, h or d, got 'soon'"),
        (["--dedup-group", "planet"], "--dedup-group: expected none, host or domain, got 'planet'"),
        (["-s", "/no/such/folder"], "-s: there is no /no/such/folder"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(stages: Stages, words: list[str], said: str) -> None:
    rest = [] if words == ["--num-threads"] else [str(stages.crawl), "1"]
    done = stages.run(*words, *rest)
    assert done.returncode == 2
    assert said in done.stderr
    assert stages.log == []


@pytest.mark.parametrize("words", [[], ["crawl"], ["crawl", "1", "2"], ["", "1"], ["crawl", "1", "--", "-i"]])
def test_folder_and_rounds_must_be_given(stages: Stages, words: list[str]) -> None:
    assert stages.run(*words).returncode == 2
    assert stages.log == []


@pytest.mark.parametrize("rounds", ["often", "-3", "1.5", ""])
def test_rounds_are_a_number_or_endless(stages: Stages, rounds: str) -> None:
    done = stages.run("crawl", rounds)
    assert (done.returncode, stages.log) == (2, [])
    assert f"ROUNDS: expected a whole number, or -1 for rounds without end, got '{rounds}'" in done.stderr


def test_options_may_stand_anywhere(stages: Stages) -> None:
    stages.run(str(stages.crawl), "--num-threads", "7", "1", "--size-fetchlist=10")
    assert stages.log[0] == f"generate {LIMIT} C/crawldb C/segments -topN 10 -numFetchers 1 -noFilter"
    assert stages.log[1] == f"fetch {LIMIT} C/segments/1 -threads 7"


def test_wrong_settings_end_it_before_anything_runs(stages: Stages, tmp_path: Path) -> None:
    stages.does("conf", 'echo "nutchpy: unknown setting" >&2; exit 2')
    done = stages.run("-s", str(tmp_path), "-D", "foo.bar=1", str(stages.crawl), "1")
    assert (done.returncode, stages.log) == (2, [])
    assert done.stderr == "nutchpy: unknown setting\n"


def test_help_is_for_stdout(stages: Stages) -> None:
    done = stages.run("--help")
    assert done.returncode == 0
    assert "--size-fetchlist" in done.stdout


def test_nothing_due_ends_well(stages: Stages) -> None:
    done = stages.run(str(stages.crawl), "-1", LAST="2")
    assert done.returncode == 0
    assert stages.names == [*ROUND, *ROUND, "generate"]
    assert "nothing due" in done.stderr


@pytest.mark.parametrize(("stage", "code"), [("fetch", 5), ("updatedb", 3), ("generate", 4), ("dedup", 70)])
def test_failed_stage_ends_the_loop_with_its_code(stages: Stages, stage: str, code: int) -> None:
    stages.does(stage, f"exit {code}")
    done = stages.run(str(stages.crawl), "3")
    assert done.returncode == code
    assert stages.names == ROUND[: ROUND.index(stage) + 1]
    assert f"{stage} ended with {code}" in done.stderr


def test_several_segments_of_a_round_are_all_worked_on(stages: Stages) -> None:
    stages.does("generate", 'echo "$CRAWL/segments/a"; echo "$CRAWL/segments/b"')
    stages.run(str(stages.crawl), "1")
    assert stages.names == ["generate", "fetch", "parse", "fetch", "parse", "updatedb", "invertlinks", "dedup"]
    assert stages.log[5] == f"updatedb {LIMIT} C/crawldb C/segments/a C/segments/b"


def test_what_a_killed_run_left_is_finished_first(stages: Stages) -> None:
    left = [("fetch", "a"), ("parse", "b"), ("invertlinks", "c")]
    lines = "".join(f"{stage}\\t$CRAWL/segments/{name}\\n" for stage, name in left)
    stages.does("unfinished", f'printf "{lines}dedup\\t$CRAWL/crawldb\\n"')
    assert stages.run(str(stages.crawl), "1", LAST="0").returncode == 0
    assert [line.replace(LIMIT + " ", "") for line in stages.log] == [
        "fetch C/segments/a -threads 50",
        "parse C/segments/a",
        "parse C/segments/b",
        "updatedb C/crawldb C/segments/a C/segments/b C/segments/c",
        "invertlinks C/linkdb C/segments/a C/segments/b C/segments/c -noNormalize -noFilter",
        "dedup C/crawldb -group none",
        "generate C/crawldb C/segments -topN 50000 -numFetchers 1 -noFilter",
    ]


def test_missed_dedup_is_made_up_for(stages: Stages) -> None:
    stages.does("unfinished", 'printf "dedup\\t$CRAWL/crawldb\\n"')
    stages.run(str(stages.crawl), "0")
    assert stages.names == ["dedup"]


def test_crawl_that_cannot_be_read_ends_with_that_code(stages: Stages) -> None:
    stages.does("unfinished", "exit 4")
    assert stages.run(str(stages.crawl), "1").returncode == 4
    assert stages.log == []


@pytest.mark.parametrize("place", ["current", "crawl"])
def test_stop_file_ends_between_stages(stages: Stages, tmp_path: Path, place: str) -> None:
    folder = tmp_path if place == "current" else stages.crawl
    stages.does("parse", f'mkdir -p "{folder}"; touch "{folder}/.STOP"')
    done = stages.run(str(stages.crawl), "2", cwd=tmp_path)
    assert done.returncode == 0
    assert stages.names == ["generate", "fetch", "parse"]
    assert ".STOP found before updatedb" in done.stderr


def test_waiting_looks_again_and_heeds_the_stop_file(stages: Stages) -> None:
    stages.does(
        "generate",
        'n=$(grep -c "^generate" "$STAGES/log"); [ "$n" -gt 1 ] && mkdir "$CRAWL" && touch "$CRAWL/.STOP"; exit 1',
    )
    done = stages.run("--wait", "1", str(stages.crawl), "1")
    assert done.returncode == 0
    assert stages.names == ["generate", "generate"]
    assert ".STOP found while waiting" in done.stderr


@pytest.mark.parametrize(("given", "seconds"), [("9", 9), ("9s", 9), ("08m", 480), ("1h", 3600), ("2d", 172800)])
def test_units_of_waiting(stages: Stages, given: str, seconds: int) -> None:
    stages.does("generate", 'mkdir "$CRAWL" && touch "$CRAWL/.STOP"; exit 1')
    assert f"looking again in {seconds} s" in stages.run("-w", given, str(stages.crawl), "1").stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_to_the_loop_reaches_the_stage_once_and_waits_for_it(stages: Stages, number: int) -> None:
    stages.does(
        "fetch",
        "trap 'echo asked >>\"$STAGES/asked\"; exit 5' TERM\nfor _ in $(seq 80); do sleep 0.05; done",
    )
    loop = stages.start(str(stages.crawl), "1")
    stages.until("fetch")
    time.sleep(0.2)
    loop.send_signal(number)
    _, errors = loop.communicate(timeout=10)
    assert loop.returncode == 5
    assert (stages.folder / "asked").read_text() == "asked\n"
    assert stages.names == ["generate", "fetch"]
    assert "fetch ended with 5" in errors


# Runs a command on a terminal of its own and, at a word from us, presses Ctrl-C. (A process of its own, because
# forking is not for programs with threads, as the tests are.)
TERMINAL = """
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
sys.stdin.readline()
os.write(terminal, b"\\x03")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_ctrl_c_on_a_terminal_reaches_the_stage_once(stages: Stages) -> None:
    stages.does(
        "fetch",
        "trap 'echo asked >>\"$STAGES/asked\"; exit 5' INT TERM\nfor _ in $(seq 80); do sleep 0.05; done",
    )
    command = [sys.executable, "-c", TERMINAL, project.BIN / "crawl", str(stages.crawl), "1"]
    with stages.mortal(subprocess.Popen(command, env=stages.env(), stdin=subprocess.PIPE)) as terminal:
        stages.until("fetch")
        time.sleep(0.2)
        terminal.communicate(b"\n", timeout=10)
    assert terminal.returncode == 5
    assert (stages.folder / "asked").read_text() == "asked\n"
    assert stages.names == ["generate", "fetch"]


def test_signal_while_waiting_ends_at_once(stages: Stages) -> None:
    stages.does("generate", "exit 1")
    loop = stages.start("-w", "1d", str(stages.crawl), "1")
    stages.until("generate")
    time.sleep(0.3)
    loop.send_signal(signal.SIGTERM)
    loop.communicate(timeout=10)
    assert loop.returncode == 5
