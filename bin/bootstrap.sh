# Sourced by the commands in bin/: makes sure of the project's Python environment and names it.
#
#     here=…/bin; . "$here/bootstrap.sh"; bootstrap [EXTRA…]
#
# leaves $root (the project), $venv (.venv there, or $NUTCHPY_VENV) and $python (the environment's interpreter).
# An environment is ready when its stamp, written as the last step of its building, says that it was made for this
# folder, this setup.cfg and this version, with the extras asked for. bootstrap.py builds what is not ready.
# An environment without a stamp is the user's own: it is used as it is when nutchpy can be imported from it.
# POSIX sh; whatever goes wrong here ends with 70, everything said goes to stderr.

unset CDPATH
root=$(cd -P -- "$here/.." && pwd) || exit 70
PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}
export PATH

venv=${NUTCHPY_VENV:-$root/.venv}
case $venv in
    /*) ;;
    *) venv=$PWD/$venv ;;
esac
python=$venv/bin/python

fingerprint() {
    printf '%s %s\n' "$(cat "$root/setup.cfg" "$root/pyproject.toml" "$root/nutchpy/core/version.py" | cksum)" "$root"
}

# importable EXTRA…: whether an environment that is not ours has nutchpy and what each extra is wanted for.
importable() {
    modules=nutchpy
    for extra in "$@"; do
        case $extra in
            test) modules="$modules pytest" ;;
            lint) modules="$modules mypy" ;;
        esac
    done
    # shellcheck disable=SC2086  # module names, split on purpose
    "$python" -I -c 'import importlib.util as u, sys; sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))' $modules
}

ready() {
    [ -x "$python" ] || return 1
    [ -f "$venv/nutchpy-stamp" ] || { importable "$@"; return; }
    { IFS= read -r made_for; IFS= read -r extras; } <"$venv/nutchpy-stamp"
    [ "$made_for" = "$(fingerprint)" ] || return 1
    for extra in "$@"; do
        case " $extras " in
            *" $extra "*) ;;
            *) return 1 ;;
        esac
    done
}

find_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3.14 python3.13 python3.12 python3.11 python3; do
        "$candidate" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue
        command -v "$candidate"
        return
    done
    echo "nutchpy needs Python 3.11 or newer: install it (Debian: apt install python3 python3-venv; macOS: brew install python) or name one in \$PYTHON" >&2
    return 1
}

bootstrap() {
    ready "$@" && return
    base=$(find_python) || exit 70
    "$base" -I "$here/bootstrap.py" "$venv" "$(fingerprint)" "$@" >&2 || exit 70
}
