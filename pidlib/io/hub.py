"""Controllers on HuggingFace's hub: sent there, and fetched by their name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pidlib.io.model_card import NAME
from pidlib.io.pretrained import CARD

FILES = [CARD, "bases-*.safetensors", NAME]
"""All that a controller's folder holds; nothing else of a repository is fetched."""
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def folder_of(name: str | Path, revision: str | None = None) -> Path:
    """Return the folder that a name stands for; one on the hub is fetched first."""
    path = Path(name)
    if path.exists() or not _REPOSITORY.fullmatch(str(name)):
        return path
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    # A folder of plain files: the hub's own cache consists of links, which are refused.
    place = Path(constants.HF_HUB_CACHE) / "pidlib" / str(name).replace("/", "--")
    place = place / (revision or "main").replace("/", "--")
    try:
        snapshot_download(str(name), revision=revision, local_dir=place, allow_patterns=FILES)
    except (HfHubHTTPError, LocalEntryNotFoundError, HFValidationError, OSError) as error:
        last = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FileNotFoundError(
            f"no controller {str(name)!r}: there is no such folder, and the hub gave none ({last})"
        ) from None
    return place


def send(folder: Path, name: str, private: bool | None, token: str | None, **commit: Any) -> str:
    """Send a controller's folder to the hub; return the commit's address."""
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    commit["commit_message"] = commit.get("commit_message") or "Control of hidden states"
    address = api.upload_folder(
        repo_id=api.create_repo(name, private=private, exist_ok=True).repo_id,
        folder_path=folder,
        allow_patterns=FILES,
        delete_patterns="bases-*.safetensors",  # the old one, where its name differs
        **commit,
    )
    return str(address)
