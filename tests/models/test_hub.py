"""As HuggingFace does it: a folder with a card, sent to a hub and fetched, inside a pipeline."""

import shutil
from fnmatch import fnmatch
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub.errors import RepositoryNotFoundError
from transformers import pipeline

from pidlib import PIDController
from pidlib.io.model_card import NAME


@pytest.fixture
def fitted(tiny):
    return tiny.fit(tiny.model("bert"), rows=24, variance=0.7)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub in a folder, behind the two calls that pidlib makes."""
    root, seen = tmp_path / "hub", []

    class Api:
        def __init__(self, token=None):
            self.token = token

        def create_repo(self, name, private, exist_ok):
            (root / name).mkdir(parents=True, exist_ok=exist_ok)
            return SimpleNamespace(repo_id=name)

        def upload_folder(self, *, repo_id, folder_path, allow_patterns, delete_patterns, **more):
            seen.append(more | {"token": self.token})
            for old in (root / repo_id).glob(delete_patterns):
                old.unlink()
            for path in folder_path.iterdir():
                if any(fnmatch(path.name, one) for one in allow_patterns):
                    shutil.copy(path, root / repo_id)
            return f"hub/{repo_id}/commit/1"

    def snapshot_download(name, revision, local_dir, allow_patterns):
        if not (root / name).is_dir():
            response = SimpleNamespace(headers={}, request=None)
            raise RepositoryNotFoundError("404 no such repository", response=response)
        local_dir.mkdir(parents=True, exist_ok=True)
        for path in (root / name).iterdir():
            if any(fnmatch(path.name, one) for one in allow_patterns):
                shutil.copy(path, local_dir)

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return SimpleNamespace(root=root, seen=seen)


def test_sent_and_fetched_it_is_the_same(tiny, fitted, hub, tmp_path):
    assert fitted.push_to_hub("someone/pd-70", private=True) == "hub/someone/pd-70/commit/1"
    assert hub.seen[0]["commit_message"] == "Control of hidden states"
    names = {path.name for path in (hub.root / "someone" / "pd-70").iterdir()}
    assert {NAME, "controller.json"} < names and len(names) == 3
    (hub.root / "someone" / "pd-70" / "modeling.py").write_text("raise SystemExit")
    again = PIDController.from_pretrained("someone/pd-70", revision="main")
    assert again.origin == fitted.origin and again.scheme == fitted.scheme
    assert not list((tmp_path / "cache").rglob("*.py"))  # nothing else is fetched
    with pytest.raises(FileNotFoundError, match="no such folder, and the hub gave none"):
        PIDController.from_pretrained("someone/else")


def test_a_folder_wins_over_the_hub(fitted, tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", never)
    monkeypatch.chdir(tmp_path)
    fitted.save_pretrained("runs/pd")
    assert PIDController.from_pretrained("runs/pd").origin == fitted.origin
    with pytest.raises(FileNotFoundError, match="no controller.json"):
        PIDController.from_pretrained("nowhere")


def test_the_card_tells_what_it_is_and_leaves_a_hand_written_one_alone(fitted, tmp_path):
    fitted.save_pretrained(tmp_path)
    text = (tmp_path / NAME).read_text()
    head = text.split("---\n")[1]
    assert "library_name: pidlib" in head and "- bert" in head
    assert fitted.summary() in text and f"{fitted.origin.depth} blocks" in text
    for row in fitted.diagnose().records():
        assert f"| {row['t']} |" in text
    fitted.retune(variance=0.6).save_pretrained(tmp_path)
    assert "variance 0.6" in (tmp_path / NAME).read_text()
    (tmp_path / NAME).write_text("my own words")
    fitted.save_pretrained(tmp_path)
    assert (tmp_path / NAME).read_text() == "my own words"


def test_a_pipeline_runs_under_control(tiny, fitted):
    model, tokenizer, rows = tiny.model("bert"), tiny.tokenizer(), tiny.rows(6)
    classify = pipeline("text-classification", model=model, tokenizer=tokenizer)
    pairs = [{"text": row["premise"], "text_pair": row["hypothesis"]} for row in rows]
    bare = classify(pairs, top_k=None)
    with fitted.attached(model):
        seen = classify(pairs, top_k=None)
        inputs = [tokenizer(p["text"], p["text_pair"], return_tensors="pt") for p in pairs]
        wanted = [tiny.answer(model, one).softmax(-1)[0] for one in inputs]
    assert classify(pairs, top_k=None) == bare != seen
    for told, shares in zip(seen, wanted, strict=True):
        by_name = {one["label"]: one["score"] for one in told}
        for k, name in model.config.id2label.items():
            assert by_name[name] == pytest.approx(float(shares[k]), abs=1e-5)
