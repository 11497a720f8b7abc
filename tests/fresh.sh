#!/usr/bin/env bash
# Run tests as on a machine that has never run them: an empty /tmp, an empty home and another user; twice at once.
#
#   tests/fresh.sh [pytest's arguments]
#
# PYTHON is the interpreter (.venv/bin/python by default). As root, both runs are user `nobody`'s, in a mount namespace
# with a new /tmp and a checkout that this user cannot write to. Without root they are in the caller's name, with TMPDIR
# in a new folder. Both runs must pass.
set -euo pipefail
cd "$(dirname "$0")/.."
checkout=$PWD
python=$(command -v "${PYTHON:-.venv/bin/python}")
case $python in /*) ;; *) python=$checkout/$python ;; esac
as=()

# Put an empty folder over $HOME and over /tmp, in which only what runs the tests is found again.
cover() {
  local base folder kept
  base=$("$python" -c 'import sys; print(sys.base_prefix)')
  for folder in "$HOME" /tmp; do
    mkdir -p "$FRESH$folder"
    mount -t tmpfs -o mode=755 tmpfs "$FRESH$folder"
    for kept in "$base" "$(dirname "$(dirname "$python")")" "$checkout"; do
      case $kept in "$folder"/*) mkdir -p "$FRESH$kept" && mount --rbind "$kept" "$FRESH$kept" ;; esac
    done
  done
  for folder in "$HOME" /tmp; do mount --rbind "$FRESH$folder" "$folder"; done
  chmod 1777 /tmp
  cd "$checkout"
}

run() { # NAME ARGUMENTS: with a home of its own, and nothing of the caller's environment but the path
  mkdir "$temporary/$1"
  [ ${#as[@]} = 0 ] || chown nobody "$temporary/$1"
  "${as[@]}" env -i "PATH=$(dirname "$python"):$PATH" "PYTHONPATH=$checkout" PYTHONDONTWRITEBYTECODE=1 \
    HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE TOKENIZERS_PARALLELISM=false \
    "HOME=$temporary/$1" "TMPDIR=$temporary" "$python" -m pytest -p no:cacheprovider "${@:2}"
}

if [ "$(id -u)" != 0 ] || ! unshare --mount true 2>/dev/null; then
  temporary=$(mktemp -d)
  trap 'rm -rf "$temporary"' EXIT
elif [ -z "${FRESH:-}" ]; then
  FRESH=$(mktemp -d)
  export FRESH
  trap 'rm -rf "$FRESH"' EXIT
  unshare --mount --propagation private "$0" "$@"
  exit
else
  cover
  temporary=/tmp
  as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi

status=0
run first "$@" >"$temporary/first.log" 2>&1 &
first=$!
run second "$@" || status=$?
if ! wait "$first"; then
  status=1
  echo "The run beside it:"
  cat "$temporary/first.log"
fi
exit "$status"
