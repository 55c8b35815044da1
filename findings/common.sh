# Lines that every script here shares. A script sources this file, then calls
# `install NAME==VERSION ...`, and `look` with a Python program on its input.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python=$work/environment/bin/python
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false

stop() {
    echo "$(basename "$0" .sh): $1" >&2
    exit "$2"
}

# install [--no-deps] NAME==VERSION ...: exactly these versions, or stop.
install() {
    [ -x "$python" ] || "${PYTHON:-python3}" -m venv environment ||
        stop "cannot make a virtual environment" 3
    "$python" -m pip install --quiet --no-cache-dir --no-compile "$@" > pip.txt 2>&1 ||
        stop "cannot install $*: no network, or no such version for this Python" 3
    "$python" - "$@" <<'PY' || stop "another version was installed than the pinned one" 3
import sys
from importlib.metadata import version

pins = [pin.split("==") for pin in sys.argv[1:] if "==" in pin]
raise SystemExit(any(version(name).split("+")[0] != pin for name, pin in pins))
PY
}

# look: run the program on the input. It prints what it sees, and its exit
# status is 0 only if that is what the head of the script says.
look() {
    HOME=$work "$python" -W ignore - || stop "the behaviour is no longer as stated" 1
    echo "$(basename "$0" .sh): as stated"
}
