"""Signals: a stage that looks ends by itself, one that does not is interrupted, a second Ctrl-C ends at once."""

import signal
import sys
from collections.abc import Callable
from subprocess import Popen

import pytest

Start = Callable[..., "Popen[str]"]

READY = "print('ready', flush=True)\n"
IGNORES = READY + "while True:\n    time.sleep(0.05)"
HEEDS = (
    "ctx.stop.is_set()\n"
    + READY
    + "while not ctx.stop.wait(10):\n    pass\nreturn Outcome(lines=['published'], exit_code=5)"
)
LOOKS_AWAY = "ctx.stop.is_set()\n" + IGNORES


def ready(process: "Popen[str]") -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("body", [IGNORES, HEEDS])
def test_a_signal_ends_the_run_with_5(start: Start, body: str, number: signal.Signals) -> None:
    with start(body, "sample") as process:
        ready(process)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 5
    assert out == ("published\n" if body == HEEDS else "")
    assert err == ("" if body == HEEDS else f"nutchpy: stopped by {number.name}\n")


def test_a_second_interrupt_ends_at_once(start: Start) -> None:
    with start(LOOKS_AWAY, "sample") as process:
        ready(process)
        process.send_signal(signal.SIGINT)
        with pytest.raises(Exception, match="timed out"):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 5


def test_a_question_ends_no_command(start: Start) -> None:
    with start(IGNORES, "sample") as process:
        ready(process)
        process.send_signal(signal.SIGUSR1)
        with pytest.raises(Exception, match="timed out"):
            process.wait(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 5


def test_what_nohup_ignores_stays_ignored(start: Start) -> None:
    def nohup() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with start(IGNORES, "sample", preexec_fn=nohup) as process:
        ready(process)
        process.send_signal(signal.SIGHUP)
        with pytest.raises(Exception, match="timed out"):
            process.wait(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 5


def test_a_signal_while_lines_are_printed_ends_the_printing(start: Start) -> None:
    body = "ctx.stop.is_set()\n" + READY + "return Outcome(lines=(time.sleep(0.1) or str(n) for n in range(10**6)))"
    with start(body, "sample") as process:
        ready(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"  # the printing has begun
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 5


# Runs a command, and tells it that it is its parent.
PARENT = [
    sys.executable,
    "-c",
    "import os, subprocess, sys; subprocess.run(sys.argv[1:], env=os.environ | {'NUTCHPY_PARENT': str(os.getpid())})",
]


@pytest.mark.parametrize(
    ("body", "said"), [(HEEDS, ("published\n", "")), (IGNORES, ("", "nutchpy: stopped by SIGTERM\n"))]
)
def test_a_command_ends_when_the_parent_it_was_told_of_is_killed(
    start: Start, body: str, said: tuple[str, str]
) -> None:
    with start(body, "sample", under=PARENT) as parent:
        ready(parent)
        parent.send_signal(signal.SIGKILL)
        assert parent.communicate(timeout=30) == said  # which reads until the command has ended


def test_a_parent_that_was_gone_before_the_command_began_ends_it(start: Start) -> None:
    with Popen([sys.executable, "-c", ""]) as gone:
        pass
    with start(IGNORES, "sample", env={"NUTCHPY_PARENT": str(gone.pid)}) as process:
        assert process.wait(30) == 5


def test_a_process_that_is_no_parent_ends_nothing(start: Start) -> None:
    with Popen(["sleep", "60"]) as other, start(IGNORES, "sample", env={"NUTCHPY_PARENT": str(other.pid)}) as process:
        ready(process)
        other.kill()
        other.wait()
        with pytest.raises(Exception, match="timed out"):
            process.wait(1.2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 5
