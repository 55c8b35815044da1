#!/usr/bin/env bash
# Install Fashion-MNIST where that is permitted. Only new records of the chapter on vision need it.
set -euo pipefail
folder=${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}
if [ -f "$folder/t10k-images-idx3-ubyte.gz" ]; then
  echo "fashion-mnist: $folder"
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "fashion-mnist: none, and it can't be installed here (needs root and apt-get); pages and tests do without"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if { apt-get update && apt-get install -y --no-install-recommends dataset-fashion-mnist; } >"$log" 2>&1; then
  echo "fashion-mnist: $folder"
else
  echo "fashion-mnist: the installation failed, see $log; pages and tests do without"
fi
