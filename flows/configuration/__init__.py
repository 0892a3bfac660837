"""From a pipelines.yaml to a project. In comes the text of a file with `--set` changes; out comes a `Project` of typed
pipelines, or every mistake with its line. Begin with `load_project` in `loading.py`; short forms are written out in
`short_forms.py`, and `menu.py` knows what pipelines may name, plug-ins among it.
"""
