#!/usr/bin/env bash
# datasets 5.0.1, numpy 2.4.6
#
# Behaviour: a column whose feature is float64 is read as float32 with
# with_format("numpy"), and so is a float16 one. A column of whole numbers
# with one None becomes float32 too, which cannot hold every whole number
# above 2^24: another id comes back. The feature still says float64 or int64.
#
# Guess, before the run: the type of the stored column is kept. (The usual
# guess: the author remembered float32, and had not thought of the whole numbers.)
#
# Outcome: float64 -> float32; the id 16777217 comes back as 16777216.
# with_format("numpy", dtype=...) or with_format("arrow") keeps the values.
#
# Date: 2026-11-28
# Hurts: who stores states or Gram matrices in double precision on purpose (the
# small end of a spectrum is gone), and who joins rows by an id.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install datasets==5.0.1 numpy==2.4.6
look <<'PY'
import numpy as np
from datasets import Dataset, disable_progress_bars

disable_progress_bars()
small = np.diag([1.0, 1e-9]) + 1.0
data = Dataset.from_dict({"gram": small, "id": [16777217, None]})
print("features:", data.features)
read = data.with_format("numpy")
gram, ids = read["gram"][:], read["id"][:]
kept = np.array(data.with_format("arrow")["gram"][:].to_pylist())
print("stored 1e-9 above one:", small[1, 1] - 1, "read:", np.float64(gram[1, 1]) - 1,
      "through arrow:", kept[1, 1] - 1)
print("gram", gram.dtype, " id", ids.dtype, "first id", int(ids[0]))
stated = (
    data.features["gram"].feature.dtype == "float64"
    and gram.dtype == np.float32
    and gram[1, 1] == 1
    and ids.dtype == np.float32
    and int(ids[0]) == 16777216
    and np.array_equal(kept, small)
)
raise SystemExit(not stated)
PY
