"""Where a run took place: versions and machine."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any


def versions() -> dict[str, str]:
    """Versions of what decides a result: Python, pidlib and the libraries beneath."""
    names = ("torch", "transformers", "peft", "textattack", "numpy", "safetensors", "tokenizers")
    found = {"python": platform.python_version()}
    for name in ("pidlib", *names):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Processor, cores and accelerator; no name of a host."""
    import torch

    found = {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}
    found["threads"] = torch.get_num_threads()
    found["processor_features"] = torch.backends.cpu.get_cpu_capability()
    found["gpu"] = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return found
