"""Files that pidlib writes and removes: readable as the umask says, and only its own."""

import os

import pytest
import torch

from experiments.experiment import cached_json
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.files import write_json, write_tensors
from pidlib.io.pretrained import write_folder


@pytest.fixture(params=[0o022, 0o002, 0o077])
def umask(request):
    old = os.umask(request.param)
    yield request.param
    os.umask(old)


def test_written_files_have_the_mode_that_the_umask_says(tmp_path, umask):
    write_json(tmp_path / "card.json", {})
    write_tensors(tmp_path / "x.safetensors", {"x": torch.zeros(2)})
    (tmp_path / "x.safetensors.partial").write_text("left by a process that was killed")
    write_tensors(tmp_path / "x.safetensors", {"x": torch.ones(2)})
    write_folder(tmp_path / "control", "pidlib-controller", {}, {}, {"x": torch.zeros(2)})
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 4
    assert {path.stat().st_mode & 0o777 for path in files} == {0o666 & ~umask}


def test_clearing_a_checkpoint_leaves_what_is_not_its_own(tmp_path):
    mine = [tmp_path / "thesis.tex", tmp_path / "sums-of-2025.csv"]
    for path in mine:
        path.write_text("mine")
    keep = Checkpoint(tmp_path, {"data": "x"}, every=0)
    for place in (1, 2):
        keep.keep({"x": torch.zeros(2)}, place)
    keep.clear()
    assert sorted(tmp_path.iterdir()) == sorted(mine)
    keep.clear()  # nothing is kept: nothing is removed
    assert sorted(tmp_path.iterdir()) == sorted(mine)


def test_a_folder_written_again_keeps_the_users_files(tmp_path):
    mine = tmp_path / "bases-before.safetensors"
    mine.write_text("mine")
    for value in (0.0, 1.0):
        write_folder(tmp_path, "pidlib-controller", {}, {}, {"x": torch.full((2,), value)})
    assert mine.is_file() and len(list(tmp_path.glob("bases-*"))) == 2


def test_settings_with_a_tuple_are_known_again(tmp_path):
    settings, asked = {"states": (0, 1), "scheme": "P"}, []

    def compute():
        asked.append(1)
        return {"right": (1, 2)}

    first, again = (cached_json(tmp_path / "x.json", settings, compute) for _ in range(2))
    assert first == again == {"right": [1, 2]} and len(asked) == 1
    assert cached_json(tmp_path / "x.json", settings | {"scheme": "D"}, compute) and len(asked) == 2
