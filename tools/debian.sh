#!/usr/bin/env bash
# Install what Debian has and pip has not, where that is permitted: tools/debian.sh NAME ...
#   chromium  the browser of the site's tests
#   wordnet   the files of which some attacks and recorded trials take their words
#   fashion   the pictures of the chapter on vision; only new records of it need them
# What cannot be installed is said, and the tests that need it are skipped by name.
set -euo pipefail

there() {
  case $1 in
    chromium) for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" && return
      done ;;
    wordnet) ls -d "${WNSEARCHDIR:-/usr/share/wordnet}/data.noun" ;;
    fashion) ls "${FASHION_MNIST_DIR:-/usr/share/datasets/fashion-mnist}/t10k-images-idx3-ubyte.gz" ;;
  esac 2>/dev/null
}

declare -A package=([chromium]=chromium [wordnet]=wordnet-base [fashion]=dataset-fashion-mnist)
export DEBIAN_FRONTEND=noninteractive
for name in "$@"; do
  [ -n "${package[$name]:-}" ] || { echo "unknown name '$name'; there are ${!package[*]}"; exit 2; }
  log=$(mktemp)
  if [ -z "$(there "$name")" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    [ -n "${updated:=$(apt-get update >"$log" 2>&1 && echo yes)}" ] || true
    apt-get install -y --no-install-recommends "${package[$name]}" >>"$log" 2>&1 || true
  fi
  if place=$(there "$name") && [ -n "$place" ]; then
    echo "$name: $place"
  else
    echo "$name: none, and Debian's ${package[$name]} could not be installed (it needs root and apt-get; $log)"
  fi
done
