#!/usr/bin/env bash
# safetensors 0.8.0, numpy 2.4.6
#
# Behaviour: save_file makes a new file with mode 600 and moves it to the name.
# The umask does not count. A file that stood there with mode 664 becomes 600.
# A symbolic link that stood there is replaced by the file: what it pointed to
# keeps the old content. numpy.save follows the umask, the old mode and the link.
#
# Guess, before the run: mode 644 under umask 022, as for numpy.save. (For the
# old file and the link no guess was written down.)
#
# Outcome: 600 for the new file, for the old one, and in place of the link.
#
# Date: 2026-11-28
# Hurts: groups that share adapters, bases or controllers in a common folder, or
# store them elsewhere by a link: the others read nothing, or the old weights.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install safetensors==0.8.0 numpy==2.4.6
look <<'PY'
import os

import numpy as np
from safetensors.numpy import save_file


def by_numpy(arrays, name):
    with open(name, "wb") as file:
        np.save(file, arrays["gain"])


os.umask(0o022)
seen = {}
for save in (by_numpy, save_file):
    os.mkdir(save.__name__)
    os.chdir(save.__name__)
    for name in ("old", "target"):
        open(name, "w").close()
        os.chmod(name, 0o664)
    os.symlink("target", "link")
    for name in ("new", "old", "link"):
        save({"gain": np.ones(3)}, name)
    modes = [oct(os.stat(name).st_mode & 0o777) for name in ("new", "old", "link")]
    seen[save.__name__] = *modes, os.path.islink("link"), os.path.getsize("target") > 0
    print(save.__name__, "new %s, old %s, link %s, still a link: %s, target written: %s" % seen[save.__name__])
    os.chdir("..")
raise SystemExit(seen != {"by_numpy": ("0o644", "0o664", "0o664", True, True),
                          "save_file": ("0o600", "0o600", "0o600", False, False)})
PY
