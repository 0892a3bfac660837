#!/usr/bin/env bash
# Put the exact set of requirements.lock and this checkout into .venv. What is pinned needs no resolving, and pip works on
# one core: two halves go in at once. `pip check` says whether the set is whole.
set -euo pipefail
cd "$(dirname "$0")/.."

install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps "$@"; }
halves=$(mktemp -d)
trap 'rm -rf "$halves"' EXIT
awk -v folder="$halves" '/==/ { print > (folder "/" n++ % 2) }' requirements.lock
install -r "$halves/0" &
install -r "$halves/1"
wait $!
install --editable .
.venv/bin/python -m pip check

# What pip compiles on one core; libraries' own tests, and transformers' hundreds of models, are compiled where they are
# used. Some templates are no Python.
.venv/bin/python -m compileall -qq -j 0 -x '/(tests?|testing|transformers/models)/' .venv/lib || true
