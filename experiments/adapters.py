"""What a result file holds of the adapter that it was measured with."""

from __future__ import annotations

from typing import Any

from pidlib.models import training_record


def adapter_record(name: str) -> dict[str, Any]:
    """Name and hashes of an adapter and its base."""
    record = training_record(name)
    return {"name": name, "sha256": record["adapter"]["sha256"], "base": record["base"]}
