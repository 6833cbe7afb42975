"""Build the environment that the commands in bin/ run in. Called by bootstrap.sh; needs nothing but the stdlib.

    bootstrap.py VENV FINGERPRINT [EXTRA…]

The environment is built aside, in ``.NAME.built-XXXX`` next to VENV, and VENV becomes a symbolic link to it in one
rename: scripts in an environment name their interpreter by its absolute path, so a real folder cannot be renamed, but
a link to it can. One builder works at a time, under a flock that dies with its owner; the others wait and then find
the work done. The stamp is written last, so a killed build is never taken for an environment.
"""

from __future__ import annotations

import configparser
import contextlib
import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = "nutchpy-stamp"
OPTIONAL = "pycurl"
"""The one dependency nutchpy works without (``http.transport = "requests"``), since not every platform has a wheel."""

Install = Callable[..., "subprocess.CompletedProcess[str]"]


class SetupError(Exception):
    """The environment cannot be built; the message is the one line the user sees."""


def say(line: str) -> None:
    print(f"nutchpy: {line}", file=sys.stderr, flush=True)  # noqa: T201


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    words = [str(word) for word in command]
    return subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def checked(result: subprocess.CompletedProcess[str], what: str) -> None:
    if result.returncode != 0:
        sys.stderr.write(result.stdout + result.stderr)
        raise SetupError(what)


# --- the lock -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def sole_builder(venv: Path) -> Iterator[None]:
    """Hold the lock beside ``venv``; the kernel lets go of it when this process ends, however it ends."""
    with (venv.parent / f".{venv.name.lstrip('.')}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another command is setting up {venv}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# --- the stamp ----------------------------------------------------------------------------------------------------


def read_stamp(venv: Path) -> tuple[str, frozenset[str]] | None:
    """What ``venv`` was made for and its extras; None when it was not made here, or not to the end."""
    stamp = venv / STAMP
    if not stamp.is_file() or not os.access(venv / "bin" / "python", os.X_OK):
        return None
    made_for, extras, *_ = [*stamp.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), "", ""]
    return made_for, frozenset(extras.split())


def write_stamp(venv: Path, fingerprint: str, extras: frozenset[str]) -> None:
    aside = venv / f"{STAMP}.new"
    text = f"{fingerprint}\n{' '.join(sorted(extras))}\n"
    aside.write_text(text, encoding="utf-8", errors="surrogateescape")
    aside.replace(venv / STAMP)


# --- making and filling an environment ----------------------------------------------------------------------------


def make(folder: Path) -> None:
    """An empty environment of this interpreter, by whatever can make one here."""
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        makers: list[list[str]] = [[sys.executable, "-I", "-m", "venv"]]
    else:
        makers = []
    if importlib.util.find_spec("virtualenv"):
        makers.append([sys.executable, "-I", "-m", "virtualenv", "--quiet"])
    if virtualenv := shutil.which("virtualenv"):
        makers.append([virtualenv, "--quiet", "--python", sys.executable])
    if uv := shutil.which("uv"):
        makers.append([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable])
    if not makers:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(f"{sys.executable} cannot make environments: install python{version}-venv, virtualenv or uv")
    for maker in makers:
        result = run(*maker, folder)
        if result.returncode == 0:
            return
    checked(result, f"{makers[-1][-1]} could not make {folder}")


def installer(folder: Path) -> Install:
    """``pip install`` into ``folder``: by its own pip, or by uv when it has none."""
    python = folder / "bin" / "python"
    if run(python, "-I", "-m", "pip", "--version").returncode == 0:
        return lambda *words: run(python, "-I", "-m", "pip", "install", *words)
    uv = shutil.which("uv")
    if uv is None:
        raise SetupError(f"{folder} has no pip and there is no uv: install one of them")
    return lambda *words: run(uv, "pip", "install", "--python", python, *words)


def requirements(extras: frozenset[str]) -> list[str]:
    """The lines of setup.cfg's install_requires and of these extras."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    texts = [
        setup["options"]["install_requires"],
        *(setup["options.extras_require"][extra] for extra in sorted(extras)),
    ]
    return [line for text in texts for line in text.split("\n") if line.strip()]


def fill(folder: Path, extras: frozenset[str]) -> None:
    """The dependencies, as wheels only, then nutchpy itself, editable: the sources here are what runs."""
    install = installer(folder)
    wanted = requirements(extras)
    got = install("--only-binary", ":all:", *wanted)
    if got.returncode != 0:
        without = install("--only-binary", ":all:", *(line for line in wanted if not line.startswith(OPTIONAL)))
        checked(got if without.returncode else without, f"the dependencies could not be installed into {folder}")
        say(f"no {OPTIONAL} wheel for this platform: pages are fetched with the requests transport")
    checked(install("--no-deps", "--editable", ROOT), f"nutchpy could not be installed into {folder}")


# --- putting it in place ------------------------------------------------------------------------------------------


def build(venv: Path, fingerprint: str, extras: frozenset[str]) -> None:
    """A whole environment aside, then ``venv`` pointed at it."""
    prefix = aside_prefix(venv)
    before = venv.resolve()
    sweep(venv.parent, prefix, keep={before})
    aside = Path(tempfile.mkdtemp(prefix=prefix, dir=venv.parent))
    aside.chmod(0o777 & ~umask())
    try:
        make(aside)
        fill(aside, extras)
        write_stamp(aside, fingerprint, extras)
        point(venv, aside)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def aside_prefix(venv: Path) -> str:
    return f".{venv.name.lstrip('.')}.built-"


def umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def sweep(parent: Path, prefix: str, keep: set[Path]) -> None:
    """Remove what killed builds left, and environments replaced earlier; the last one stays for crawls still in it."""
    for folder in parent.glob(f"{prefix}*"):
        if folder.resolve() not in keep:
            shutil.rmtree(folder, ignore_errors=True)


def point(venv: Path, target: Path) -> None:
    link = target.with_name(f"{target.name}.link")
    link.symlink_to(target.name)
    link.replace(venv)


def refresh(venv: Path, fingerprint: str, extras: frozenset[str]) -> None:
    """Bring ``venv`` to what is wanted: nothing, extras added in place, or a new build."""
    stamp = read_stamp(venv)
    if stamp is not None and stamp[0] == fingerprint and extras <= stamp[1]:
        return
    version = ".".join(map(str, sys.version_info[:3]))
    if stamp is not None and stamp[0] == fingerprint:
        say(f"adding what {', '.join(sorted(extras - stamp[1]))} needs to {venv}")
        fill(venv, extras | stamp[1])
        write_stamp(venv, fingerprint, extras | stamp[1])
    elif os.path.lexists(venv) and not built_here(venv):
        adopt(venv, fingerprint, extras)
    else:
        say(f"setting up {venv} with Python {version} (once; a minute or so)")
        build(venv, fingerprint, extras | (stamp[1] if stamp else frozenset()))


def built_here(venv: Path) -> bool:
    return venv.is_symlink() and venv.readlink().name.startswith(aside_prefix(venv))


def adopt(venv: Path, fingerprint: str, extras: frozenset[str]) -> None:
    """An environment somebody else made stays where it is, and gets nutchpy installed."""
    if not os.access(venv / "bin" / "python", os.X_OK):
        raise SetupError(f"{venv} is no Python environment: remove it, or set NUTCHPY_VENV to another place")
    say(f"installing nutchpy into {venv}")
    fill(venv, extras)
    write_stamp(venv, fingerprint, extras)


def main(venv: Path, fingerprint: str, *extras: str) -> int:
    try:
        venv.parent.mkdir(parents=True, exist_ok=True)
        with sole_builder(venv):
            refresh(venv, fingerprint, frozenset(extras))
    except SetupError as failed:
        say(str(failed))
        return 70
    except OSError as error:
        say(f"cannot set up {venv}: {error.strerror or error} ({error.filename}); NUTCHPY_VENV names another place")
        return 70
    except KeyboardInterrupt:
        say("set-up interrupted")
        return 70
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
