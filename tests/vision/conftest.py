"""Everything here needs timm and torchvision: `make test` runs it by .venv-vision (install.sh); elsewhere it is not
collected."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("timm") and find_spec("torchvision") else ["test_*.py"]
