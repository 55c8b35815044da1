"""What `make lab` does before and when it opens JupyterLab."""

import os
import subprocess
import sys

import nbformat
from nbformat.sign import NotebookNotary

from contents import ROOT


def test_make_lab_trusts_every_chapter(tmp_path):
    told = subprocess.run(["make", "-n", "lab"], cwd=ROOT, capture_output=True, text=True).stdout
    [command] = [line for line in told.splitlines() if " jupyter trust " in line]
    command = command.replace(".venv/bin/python", sys.executable)
    notary = NotebookNotary(data_dir=str(tmp_path))
    chapters = [nbformat.read(path, as_version=4) for path in ROOT.glob("notebooks/*.ipynb")]
    assert len(chapters) > 10 and not any(map(notary.check_signature, chapters))
    env = os.environ | {"JUPYTER_DATA_DIR": str(tmp_path)}
    subprocess.run(command, shell=True, cwd=ROOT, env=env, check=True, capture_output=True)
    assert all(map(notary.check_signature, chapters))
