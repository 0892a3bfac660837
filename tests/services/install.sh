#!/usr/bin/env bash
# What `make test-services` needs besides the pinned set: PostgreSQL and OpenSSL from Debian, an S3 server and s3fs from
# PyPI. The Python packages go into .venv-services, which sees .venv: nothing is added to a user's install.
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=()
compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || command -v postgres >/dev/null || missing+=(postgresql)
command -v openssl >/dev/null || missing+=(openssl)
if [ "${#missing[@]}" -gt 0 ]; then
  sudo=()
  if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
  "${sudo[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq "${missing[@]}" >/dev/null
fi

wanted=tests/services/requirements.txt
if ! cmp -s "$wanted" .venv-services/.ready; then
  .venv/bin/python -m venv --without-pip .venv-services
  site=$(.venv-services/bin/python -c "import site; print(site.getsitepackages()[0])")
  .venv/bin/python -c "import site; print('\n'.join(site.getsitepackages()))" >"$site/pinned-set.pth"
  .venv-services/bin/python -m pip install --quiet --disable-pip-version-check -r "$wanted"
  .venv-services/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
  cp "$wanted" .venv-services/.ready
fi
