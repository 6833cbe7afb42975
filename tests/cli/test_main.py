"""The program: exit codes, messages, what goes to stdout and what to stderr."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess, Popen

import pytest

Run = Callable[..., CompletedProcess[str]]
Start = Callable[..., "Popen[str]"]

CODES = {
    "raise errors.NutchpyError('x')": 70,
    "raise errors.UsageError('x')": 2,
    "raise errors.ConfigError('x')": 2,
    "raise errors.PluginError('x')": 2,
    "raise errors.NothingDue('x')": 1,
    "raise errors.StorageError('x')": 4,
    "raise errors.MissingError('x')": 4,
    "raise errors.DamagedError('x')": 4,
    "raise errors.LockedError('x')": 3,
    "raise errors.EngineError('x')": 4,
    "raise errors.Interrupted('x')": 5,
    "raise OSError(errno.ENOSPC, 'No space left on device', 'part')": 4,
    "raise OSError(errno.ECONNRESET, 'reset')": 70,
    "raise ValueError('x')": 70,
    "import not_there_at_all": 70,
    "raise KeyboardInterrupt": 5,
    "return Outcome(exit_code=5)": 5,
    "return Outcome()": 0,
}


@pytest.mark.parametrize("body", CODES)
def test_every_end_has_its_exit_code_and_one_line(run: Run, body: str) -> None:
    result = run(body, "sample")
    assert result.returncode == CODES[body], result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == (0 if body.startswith("return") else 1)
    assert all(line.startswith("nutchpy: ") for line in lines)


def test_debug_shows_the_traceback(run: Run) -> None:
    result = run("raise ValueError('the cause')", "sample", "--debug")
    assert result.returncode == 70
    assert "Traceback" in result.stderr
    assert "sample_stage.py" in result.stderr
    assert "--debug" in run("raise ValueError('the cause')", "sample").stderr


def test_a_full_disk_names_the_file(run: Run) -> None:
    result = run("raise OSError(errno.ENOSPC, 'No space left on device', 'part-0')", "sample")
    assert result.stderr == "nutchpy: No space left on device: part-0\n"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["sampel"], "no command 'sampel'; did you mean sample?"),
        (["mergedb", "a", "b"], "Nutch's mergedb is not in this version of nutchpy (nutchpy --help lists"),
        (["sample", "-topM", "1"], "sample: no option -topM; did you mean -topN? (nutchpy sample --help)"),
        (["sample", "-topN", "x"], "-topN must be a whole number"),
        (["--jsn", "sample"], "no option --jsn; did you mean --json?"),
        (["sample", "-D", "http.redirct.max=1"], "did you mean 'http.redirect.max'? (-D)"),
        (["sample", "a", "b"], "too many arguments: b"),
        (["sample", "--wait-lock", "long"], "--wait-lock must be a number"),
    ],
)
def test_wrong_words_are_usage_errors(run: Run, args: list[str], told: str) -> None:
    result = run("return Outcome()", *args)
    assert result.returncode == 2
    assert told in result.stderr


def test_no_words_show_the_commands(run: Run) -> None:
    result = run("return Outcome()")
    assert result.returncode == 2
    assert "generate" in result.stdout
    assert run("return Outcome()", "--debug", "--help").returncode == 0
    assert run("return Outcome()", "help", "sample").stdout == run("return Outcome()", "sample", "-h").stdout
    assert run("return Outcome()", "--version").stdout.startswith("nutchpy ")


LOOK = "return Outcome(lines=[str(ctx.conf['http.redirect.max']), str(options.topn), str(ctx.wait_lock)])"


@pytest.mark.parametrize(
    ("args", "env", "lines"),
    [
        ([], {}, ["0", "-1", "0.0"]),
        ([], {"NUTCHPY_HTTP_REDIRECT_MAX": "1"}, ["1", "-1", "0.0"]),
        (["-Dhttp.redirect.max=2"], {"NUTCHPY_HTTP_REDIRECT_MAX": "1"}, ["2", "-1", "0.0"]),
        (["-D", "generate.topN=7", "--wait-lock", "3"], {}, ["0", "7", "3.0"]),
        (["-D", "generate.topN=7", "-topN", "8"], {}, ["0", "8", "0.0"]),
    ],
)
def test_settings_reach_the_stage(run: Run, args: list[str], env: dict[str, str], lines: list[str]) -> None:
    assert run(LOOK, "sample", *args, env=env).stdout.split() == lines


def test_common_options_may_stand_before_the_command(run: Run) -> None:
    args = ["-D", "http.redirect.max=1", "--wait-lock=2", "sample", "x/crawldb", "-D", "http.redirect.max=3"]
    assert run(LOOK, *args).stdout.split() == ["3", "-1", "2.0"]


def test_a_variable_that_names_no_setting_stops(run: Run) -> None:
    result = run(LOOK, "sample", env={"NUTCHPY_HTTP_REDIRCT_MAX": "1"})
    assert result.returncode == 2
    assert "did you mean NUTCHPY_HTTP_REDIRECT_MAX" in result.stderr


def test_the_crawls_own_conf_folder_is_found(run: Run, tmp_path: Path) -> None:
    (tmp_path / "抓取 目录" / "conf").mkdir(parents=True)
    (tmp_path / "抓取 目录" / "conf" / "nutchpy-site.toml").write_text('[http]\n"redirect.max" = 9\n')
    assert run(LOOK, "sample", "抓取 目录/crawldb").stdout.split()[0] == "9"


RICH = (
    "return Outcome(Counters({'rows': 2}), ['a line', 'é'], {'url': 'é', 'raw': b'\\xff', 'at': ctx.now}, 0, ['note'])"
)


def test_results_go_to_stdout_and_notes_to_stderr(run: Run) -> None:
    result = run(RICH, "sample")
    assert (result.stdout, result.stderr) == ("a line\né\n", "note\n")


def test_json_is_the_data_or_the_counters(run: Run) -> None:
    data = json.loads(run(RICH, "sample", "--json").stdout)
    assert (data["url"], data["raw"]) == ("é", "ff")
    assert data["at"].endswith("+00:00")
    counters = run("return Outcome(Counters({'rows': 2}), ['a line'])", "sample", "--json")
    assert json.loads(counters.stdout) == {"rows": 2}
    many = run("return Outcome(data=({'n': n} for n in range(3)))", "sample", "--json")
    assert [json.loads(line)["n"] for line in many.stdout.splitlines()] == [0, 1, 2]


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_output_is_utf8_in_any_locale(run: Run, locale: str) -> None:
    bare = {"LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    body = "return Outcome(lines=['é 抓', os.fsdecode(b'/x/\\xff')])"
    result = run(body, "sample", env=bare)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] == "é 抓"


def test_a_reader_that_has_enough_is_no_error(start: Start) -> None:
    with start("return Outcome(lines=(str(n) for n in range(10**9)))", "sample") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "0\n"
        process.stdout.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == ""


def test_a_full_stdout_is_told(run: Run) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    body = "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nreturn Outcome(lines=['x'])"
    result = run(body, "sample")
    assert result.returncode == 4
    assert result.stderr.splitlines()[0].startswith("nutchpy: No space left")


def test_cron_logs_to_the_crawl_and_only_warnings_to_stderr(run: Run, tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    body = (
        "import logging\nlog = logging.getLogger('nutchpy.x')\nlog.info('quiet')\nlog.warning('loud')\nreturn Outcome()"
    )
    result = run(body, "sample", "--cron")
    assert "loud" in result.stderr
    assert "quiet" not in result.stderr
    log = (tmp_path / "crawl" / "logs" / "nutchpy.log").read_text()
    assert "quiet" in log
    assert "loud" in log


def test_an_empty_environment_is_enough(run: Run, tmp_path: Path) -> None:
    import subprocess
    import sys

    result = subprocess.run(
        [sys.executable, "-m", "nutchpy", "conf", "http.timeout"], env={}, cwd="/", capture_output=True, text=True
    )
    assert (result.returncode, result.stdout.splitlines()[0]) == (0, "http.timeout = 10000")


def test_help_is_quick_and_imports_no_stage() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from nutchpy.cli.main import run; run(['--help']);"
        "heavy = {'duckdb', 'pyarrow', 'rich', 'requests', 'pycurl', 'pydantic', 'bs4'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    times = []
    for _ in range(3):
        begin = time.monotonic()
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        times.append(time.monotonic() - begin)
        assert result.returncode == 0, result.stderr
    assert min(times) < 1.0  # 0.1 s on a quiet machine; the imports above are what makes it slow


def test_commands_begin_without_numpy() -> None:
    program = "import sys\nfrom nutchpy.cli.main import WITHOUT_NUMPY, run\n"
    program += "run([sys.argv[1], '--help'])\nprint(sys.argv[1] in WITHOUT_NUMPY, 'numpy' in sys.modules)"
    for command, told in (("parse", "True False"), ("readdb", "True False"), ("updatedb", "False True")):
        result = subprocess.run([sys.executable, "-c", program, command], capture_output=True, text=True, check=True)
        assert result.stdout.endswith(f"{told}\n"), command
