"""bin/bootstrap: which Python, which environment, one builder at a time, nothing half made left in place."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

_SPEC = importlib.util.spec_from_file_location("bin_project", Path(__file__).with_name("project.py"))
assert _SPEC is not None
project = importlib.util.module_from_spec(_SPEC)
assert _SPEC.loader is not None
_SPEC.loader.exec_module(project)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in a folder with spaces and Chinese letters, not yet bootstrapped."""
    laid: Path = project.lay(tmp_path_factory.mktemp("bin") / "抓取 目录" / "a project")
    return laid


@pytest.mark.slow
def test_first_run_builds_then_runs(root: Path) -> None:
    first = project.run(root / "bin" / "nutch", "generate", "a b")
    assert (first.returncode, first.stdout) == (0, "ran generate a b\n")
    assert "setting up" in first.stderr
    target = (root / ".venv").readlink()
    again = project.run(root / "bin" / "nutch", "fail")
    assert (again.returncode, again.stdout, again.stderr) == (7, "ran fail\n", "")
    assert (root / ".venv").readlink() == target
    link = root / "elsewhere"
    link.symlink_to(root / "bin" / "nutch")
    assert project.run(link, "x").stdout == "ran x\n"
    check = [root / ".venv" / "bin" / "python", "-c", "import dep, nutchpy"]
    assert subprocess.run(check, check=False, cwd="/").returncode == 0


def test_fingerprint_follows_setup_version_and_place(tmp_path: Path) -> None:
    def fingerprint(root: Path) -> str:
        script = f'here="{root}/bin"; . "$here/bootstrap.sh"; fingerprint'
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
        return done.stdout

    root = project.lay(tmp_path / "one")
    seen = [fingerprint(root)]
    (root / "nutchpy" / "core" / "version.py").write_text('VERSION = "2"\n')
    seen.append(fingerprint(root))
    project.require(root, "dep", "more")
    seen.append(fingerprint(root))
    seen.append(fingerprint(root.rename(tmp_path / "two")))
    assert len(set(seen)) == 4


def test_foreign_environment_is_used_as_it_is(tmp_path: Path) -> None:
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    done = project.run(project.BIN / "nutch", "--version", env={"NUTCHPY_VENV": str(tmp_path / "env")})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("nutchpy ")
    assert [path.name for path in (tmp_path / "env").iterdir()] == ["bin"]


def test_place_that_cannot_be_written_is_70(tmp_path: Path) -> None:
    root = project.lay(tmp_path / "p")
    (tmp_path / "file").touch()
    done = project.run(root / "bin" / "nutch", "generate", env={"NUTCHPY_VENV": f"{tmp_path}/file/env"})
    assert (done.returncode, done.stdout) == (70, "")
    assert "cannot set up" in done.stderr
    assert "NUTCHPY_VENV" in done.stderr


@pytest.mark.slow
def test_missing_dependency_is_70_and_leaves_nothing(tmp_path: Path) -> None:
    root = project.lay(tmp_path / "p")
    project.require(root, "no-such-distribution==1")
    done = project.run(root / "bin" / "nutch", "generate")
    assert (done.returncode, done.stdout) == (70, "")
    assert "no-such-distribution" in done.stderr
    assert "dependencies could not be installed" in done.stderr
    assert not [path.name for path in root.glob(".venv*") if path.name != ".venv.lock"]


def _tools(folder: Path) -> str:
    """A PATH on which there is what the scripts use, and no Python."""
    folder.mkdir()
    for name in ("sh", "cat", "cksum", "dirname", "readlink"):
        found = next(p for p in ("/bin", "/usr/bin") if (Path(p) / name).exists())
        (folder / name).symlink_to(Path(found) / name)
    return str(folder)


def test_without_python_one_line_says_what_to_install(tmp_path: Path) -> None:
    root = project.lay(tmp_path / "p")
    done = project.run(root / "bin" / "nutch", env={"PATH": _tools(tmp_path / "tools"), "PYTHON": ""})
    assert done.returncode == 70
    assert done.stderr.count("\n") == 1
    assert "Python 3.11 or newer" in done.stderr


def test_too_old_python_is_passed_over(tmp_path: Path) -> None:
    tools = _tools(tmp_path / "tools")
    for name, code in (("old", 1), ("python3.14", 1), ("python3.12", 0), ("python3.11", 0)):
        (tmp_path / "tools" / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / "tools" / name).chmod(0o755)
    script = f'here="{project.BIN}"; . "$here/bootstrap.sh"; find_python'
    done = subprocess.run(
        ["sh", "-c", script], env={"PATH": tools, "PYTHON": "old"}, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == str(tmp_path / "tools" / "python3.12")


# --- bootstrap.py by itself, environments made and filled in no time -----------------------------------------------


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", project.BIN / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "make", _make)
    monkeypatch.setattr(module, "fill", _fill)
    return module


def _make(folder: Path) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)


def _fill(folder: Path, extras: frozenset[str]) -> None:
    with (folder / "filled").open("a") as file:
        file.write(f"{sorted(extras)}\n")


def built(venv: Path) -> set[str]:
    return {path.name for path in venv.parent.glob(".env.built-*")}


def test_stale_environment_is_replaced_and_the_last_one_kept(bootstrap: ModuleType, tmp_path: Path) -> None:
    venv = tmp_path / "env"
    targets = []
    for version in ("1", "2", "3"):
        assert bootstrap.main(venv, version) == 0
        targets.append(venv.readlink().name)
    assert len(set(targets)) == 3
    assert built(venv) == set(targets[1:])
    assert bootstrap.main(venv, "3") == 0
    assert venv.readlink().name == targets[2]


def test_extras_are_added_in_place_and_kept(bootstrap: ModuleType, tmp_path: Path) -> None:
    venv = tmp_path / "env"
    bootstrap.main(venv, "1")
    target = venv.readlink()
    bootstrap.main(venv, "1", "test")
    bootstrap.main(venv, "1", "lint")
    bootstrap.main(venv, "1", "test")
    assert venv.readlink() == target
    assert (venv / "filled").read_text().splitlines() == ["[]", "['test']", "['lint', 'test']"]
    bootstrap.main(venv, "2")
    assert (venv / "filled").read_text().splitlines() == ["['lint', 'test']"]


def test_killed_build_is_swept_up(bootstrap: ModuleType, tmp_path: Path) -> None:
    venv = tmp_path / "env"
    _make(tmp_path / ".env.built-killed")
    (tmp_path / "env-of-the-user").mkdir()
    bootstrap.main(venv, "1")
    assert built(venv) == {venv.readlink().name}
    assert (tmp_path / "env-of-the-user").is_dir()


def test_failed_build_leaves_the_present_environment(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    venv = tmp_path / "env"
    bootstrap.main(venv, "1")
    target = venv.readlink()

    def fail(folder: Path, extras: frozenset[str]) -> None:
        raise bootstrap.SetupError("no network")

    monkeypatch.setattr(bootstrap, "fill", fail)
    assert bootstrap.main(venv, "2") == 70
    assert capsys.readouterr().err.endswith("nutchpy: no network\n")
    assert venv.readlink() == target
    assert built(venv) == {target.name}


def test_environment_of_the_user_gets_nutchpy_where_it_is(bootstrap: ModuleType, tmp_path: Path) -> None:
    venv = tmp_path / "env"
    _make(venv)
    bootstrap.main(venv, "1", "test")
    assert not venv.is_symlink()
    assert (venv / "filled").read_text() == "['test']\n"
    assert bootstrap.read_stamp(venv) == ("1", frozenset({"test"}))


def test_folder_that_is_no_environment_is_not_touched(
    bootstrap: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "thesis.txt").write_text("mine")
    assert bootstrap.main(tmp_path / "env", "1") == 70
    assert "is no Python environment" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "env").iterdir()] == ["thesis.txt"]


def test_environment_is_readable_as_the_umask_says(bootstrap: ModuleType, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        bootstrap.main(tmp_path / "env", "1")
    finally:
        os.umask(before)
    assert (tmp_path / "env").stat().st_mode & 0o777 == 0o750


RACE = """
import importlib.util, sys, time
from pathlib import Path
spec = importlib.util.spec_from_file_location("bootstrap", sys.argv[1])
bootstrap = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bootstrap)
def make(folder):
    print("made", flush=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    time.sleep(0.5)
bootstrap.make, bootstrap.fill = make, lambda folder, extras: None
sys.exit(bootstrap.main(Path(sys.argv[2]), "1"))
"""


def test_one_builder_at_a_time(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RACE, str(project.BIN / "bootstrap.py"), str(tmp_path / "env")]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [racer.communicate(timeout=30) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert "".join(out for out, _ in outputs) == "made\n"
    assert sum("waiting for it" in err for _, err in outputs) == 2
    assert len(built(tmp_path / "env")) == 1


def test_killed_builder_holds_nobody_up(bootstrap: ModuleType, tmp_path: Path) -> None:
    slow = RACE.replace("0.5", "60")
    command = [sys.executable, "-c", slow, str(project.BIN / "bootstrap.py"), str(tmp_path / "env")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as builder:
        assert builder.stdout is not None
        builder.stdout.readline()
        builder.kill()
    assert bootstrap.main(tmp_path / "env", "1") == 0
    assert len(built(tmp_path / "env")) == 1
