#!/usr/bin/env bash
# tqdm 4.70.1, in a notebook (nbclient 0.11.0, ipykernel 7.4.0, ipywidgets 8.1.9)
#
# Behaviour: TQDM_DISABLE=1, which since 4.66 silences every bar of a script,
# does nothing in a notebook where ipywidgets is installed. The class for
# notebooks sets the argument `disable` itself before it calls the ordinary
# class, and what the environment says is only a default for an argument that
# nobody gave. So the same `tqdm.auto` is silent in a script, and puts a widget
# into the outputs of a cell.
#
# Guess, before the look: a setting of the environment is for all faces of one
# package.
#
# Outcome: the script prints nothing; the cell has one output, a widget.
#
# Date: 2026-12-01
# Hurts: who runs notebooks for a site or compares their outputs. A library that
# shows a bar while it converts a model at its first use (transformers, reading
# GGUF) leaves a widget in that one run, and a page that then asks for widgets'
# scripts elsewhere. To drop outputs of the type widget-view after the run helps.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install tqdm==4.70.1 ipywidgets==8.1.9 ipykernel==7.4.0 nbclient==0.11.0
export TQDM_DISABLE=1
look <<'PY'
import subprocess
import sys

import nbformat
from nbclient import NotebookClient

loop = "from tqdm.auto import tqdm\nfor _ in tqdm(range(3)):\n    pass"
script = subprocess.run([sys.executable, "-c", loop], capture_output=True, text=True, check=True)
print("a script prints", repr(script.stdout + script.stderr))
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(loop)])
NotebookClient(notebook, kernel_name="python3").execute()
kinds = [sorted(output.data) for output in notebook.cells[0].outputs]
print("a cell puts out", kinds)
assert script.stdout + script.stderr == ""
assert kinds == [["application/vnd.jupyter.widget-view+json", "text/plain"]]
PY
