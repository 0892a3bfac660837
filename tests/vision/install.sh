#!/usr/bin/env bash
# The environment of the tests on timm and torchvision: .venv-vision, which sees .venv. They stand apart because PyPI's
# torchvision is built for CUDA, and beside a torch for processors every `import transformers` that comes before ours
# fails: tests and tools that import it by themselves are not to depend on that.
set -euo pipefail
cd "$(dirname "$0")/../.."

wanted=tests/vision/requirements.txt
if ! cmp -s "$wanted" .venv-vision/.ready || [ .venv/.ready -nt .venv-vision/.ready ]; then
  .venv/bin/python -m venv --without-pip .venv-vision
  site=$(.venv-vision/bin/python -c "import site; print(site.getsitepackages()[0])")
  .venv/bin/python -c "import site; print('\n'.join(site.getsitepackages()))" >"$site/pinned-set.pth"
  .venv-vision/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r "$wanted"
  .venv-vision/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
  cp "$wanted" .venv-vision/.ready
fi
