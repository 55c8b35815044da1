"""Give every recorded result the name of its configuration, and keep how it was recorded.

Run once, in the root; `tests/unit/test_configs.py` holds what came out of it.
"""

import json
from pathlib import Path

from experiments.experiment import CONFIGS, read_experiment
from pidlib.evaluation.results import _content_hash, configuration_hash
from pidlib.io.files import write_json

ROOT = Path(__file__).resolve().parents[1]

for config in sorted(CONFIGS.glob("*.toml")):
    path = ROOT / "book" / "results" / f"{config.stem}.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    if "config" in result:
        continue
    before = {k: result[k] for k in ("command", "configuration_sha256", "commit", "date")}
    now = read_experiment(config.stem).configuration
    if now != result["configuration"]:
        before["configuration"] = result["configuration"]
    changes = {
        "command": f"python -m experiments run {config.stem}",
        "config": config.name,
        "configuration": now,
        "configuration_sha256": configuration_hash(now),
    }
    made = {}
    for key, value in result.items():
        made[key] = changes.get(key, value)
        if key == "command":
            made["config"] = config.name
    made["history"] = [before]
    if "content_sha256" in made:
        made["content_sha256"] = _content_hash(made)
    write_json(path, made)
