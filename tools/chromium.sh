#!/usr/bin/env bash
# Install Chromium for the browser tests where that is permitted. Without it they are skipped.
set -euo pipefail
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null; then
    echo "browser: $(command -v "$name")"
    exit 0
  fi
done
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "browser: none, and it can't be installed here (needs root and apt-get); browser tests are skipped"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if { apt-get update && apt-get install -y --no-install-recommends chromium; } >"$log" 2>&1; then
  echo "browser: $(command -v chromium)"
else
  echo "browser: the installation failed, see $log; browser tests are skipped"
fi
