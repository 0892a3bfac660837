"""Where it lives and runs: settings and functions of artifacts come in; artifacts in a store, records of runs and
errors in the user's words go out.

The rooms, bottom to top, each importing only from those before it: `masking`, `environment`, `errors`, `terminal` and
`settings`; `storage` (bytes that stay), `user_code` (somebody's code and plug-ins), `engines` (where calls run),
`stages` (what a task is written with), `prefect` (what Prefect sees). Begin reading at `stages/stage.py`.
"""
