#!/usr/bin/env bash
# Run tests as on a machine that has never run them: an empty /tmp, an empty home and another user; twice at once.
#
#   tests/fresh.sh [pytest's arguments]
#
# PYTHON is the interpreter (.venv/bin/python by default). As root, the tests run as `nobody` in a mount namespace of
# their own, from a checkout that this user cannot write to; another user runs them in his own name, with
# TMPDIR and HOME in a new folder. Both runs must pass.
set -euo pipefail
cd "$(dirname "$0")/.."
checkout=$PWD
python=$(command -v "${PYTHON:-.venv/bin/python}")
base=$("$python" -c 'import sys; print(sys.base_prefix)')
case $python in /*) ;; *) python=$checkout/$python ;; esac
# The environment has nothing of the caller's but the path.
clean=(env -i "PATH=$(dirname "$python"):$PATH" HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE
  TOKENIZERS_PARALLELISM=false PYTHONDONTWRITEBYTECODE=1)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

suite() {  # RUN ARGUMENTS: as root in the namespace: an empty /tmp and an empty home, but for what runs the tests; then as nobody
  local run=$1 cover keep
  for cover in "$HOME" /tmp; do
    mkdir -p "$folder/$run/new$cover"
    mount -t tmpfs -o mode=755 tmpfs "$folder/$run/new$cover"
    for keep in "$base" "$(dirname "$(dirname "$python")")" "$checkout"; do
      case $keep in "$cover"/*) mkdir -p "$folder/$run/new$keep" && mount --rbind "$keep" "$folder/$run/new$keep" ;; esac
    done
  done
  for cover in "$HOME" /tmp; do mount --rbind "$folder/$run/new$cover" "$cover"; done
  chmod 1777 /tmp
  mkdir /tmp/home && chown nobody /tmp/home
  cd "$checkout"
  exec setpriv --reuid=nobody --regid=nogroup --clear-groups \
    "${clean[@]}" "PYTHONPATH=$checkout" HOME=/tmp/home "$python" -m pytest -p no:cacheprovider "${@:2}"
}

alone() {  # without root: TMPDIR instead of /tmp
  mkdir -p "$folder/$1/home"
  "${clean[@]}" "PYTHONPATH=$checkout" "HOME=$folder/$1/home" "TMPDIR=$folder/$1" \
    "$python" -m pytest -p no:cacheprovider "${@:2}"
}

if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
  one() { unshare --mount --propagation private bash -c "$(declare -p checkout python clean base folder); $(declare -f suite); suite \"\$@\"" fresh "$@"; }
else
  one() { alone "$@"; }
fi
mkdir "$folder/first" "$folder/second"
one first "$@" >"$folder/first.log" 2>&1 & first=$!
status=0
one second "$@" || status=$?
wait "$first" || { status=$?; echo "The run beside it:"; cat "$folder/first.log"; }
exit "$status"
