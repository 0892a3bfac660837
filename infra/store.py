"""The single source of truth: artifacts by key, committed by their manifest, and the records of runs.

Layout: `stages/STAGE/KEY/` holds a stage's files and, last of all, its `manifest.json`; `runs/ID.json` what a run used;
`leases/ID.json` says that a run is still writing; `reports/ID/` its page; `ingredients/` the small files of the team's
own that runs stood on, by their content; `asides/` the records of what computes and is no night.
`successors/STAGE/KEY.json` names the key that stands for one whose results came out otherwise when computed again.
`partitions/STAGE/STEP/TIME-KEY.json` says which results hold partitions of the same step: see `infra/earlier.py`.
`store.json` carries the format's number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from assay.infra.artifacts import Artifact, Kind
from assay.infra.errors import InputError, RunError
from assay.infra.folders import Folder, reached
from assay.infra.manifests import Manifest, Output, RunRecord
from assay.infra.patience import FIRST_SECONDS

FORMAT = 1
MANIFESTS = ("manifest.json", "manifest-partial.json")
"""What a committed result is known by: whole, or without the partitions that are kept apart."""

_MALFORMED = (KeyError, TypeError, AttributeError, ValueError)
"""What a file that was written by somebody else, or damaged, makes of reading it."""


class Store:
    """Artifacts, run records and reports under one root, local or remote."""

    def __init__(self, url: str) -> None:
        self.folder = Folder(url)

    def open(self) -> Store:
        """The store, ready to write to; refused where it cannot be written or is of a newer format than we know."""
        with reached(self.url):
            if not self.look().folder.exists("store.json"):
                self.folder.write_json("store.json", {"format": FORMAT, "what": "a store of Assay"})
        return self

    def look(self) -> Store:
        """The store, ready to read from, if it is there yet; refused where it cannot be, or is of a newer format."""
        with reached(self.url):
            first = Folder(self.url, patience=FIRST_SECONDS)
            known = first.read_json("store.json")
            if known is None and not first.exists("store.json"):
                return self
        number = None if known is None else known.get("format", 0)
        if not isinstance(number, int):
            raise InputError(
                f"{self.folder.url}/store.json cannot be read: mend it, or choose another store with --store."
            )
        if number > FORMAT:
            raise InputError(
                f"The store at {self.folder.url} has format {number}, this Assay knows format {FORMAT}: "
                "upgrade Assay, or choose another store with --store."
            )
        return self

    @property
    def url(self) -> str:
        """Where the store lies."""
        return self.folder.url

    @staticmethod
    def place(stage: str, key: str) -> str:
        """The folder of a stage's results under a key."""
        return f"stages/{stage}/{key}"

    def manifest(self, stage: str, key: str) -> Manifest | None:
        """The committed manifest under a key, whatever became of its files."""
        return self._readable(f"{self.place(stage, key)}/manifest.json")

    def _readable(self, name: str) -> Manifest | None:
        value = self.folder.read_json(name)
        try:
            return Manifest.from_json(value) if value else None
        except _MALFORMED:
            return None

    def find(self, stage: str, key: str) -> Manifest | None:
        """The manifest under a key, or what a later run put in its place, if all files are there in their full size."""
        manifest = self.standing(stage, key)
        return manifest if manifest and not self.damage(manifest) else None

    def standing(self, stage: str, key: str) -> Manifest | None:
        """The manifest under a key, or what a later run put in its place, whatever became of its files."""
        later = self.folder.read_json(self._successor_name(stage, key))
        manifest = self.manifest(stage, str(later["key"])) if later and "key" in later else None
        return manifest or self.manifest(stage, key)

    def damage(self, manifest: Manifest) -> list[str]:
        """Files of a manifest that are missing or not of the size they had."""
        there = self.folder.sizes(self.place(manifest.stage, manifest.key))
        wanted = {file: size for output in manifest.outputs.values() for file, size in output.files.items()}
        return sorted(file for file, size in wanted.items() if there.get(file) != size)

    def commit(self, manifest: Manifest) -> Manifest:
        """The manifest that now stands under the key: this one, or an earlier one that says the same.

        The first manifest wins. A different digest under the same key means that the stage is not the function of its
        key that it claims to be; that is an error worth reading, not a thing to paper over: `settle` is the
        way on.
        """
        if manifest.quarantined:
            # What lacks partitions is kept apart: a later run asks for the whole, finds none, and tries again.
            self.folder.write(self._partial_name(manifest.stage, manifest.key), _json_bytes(manifest))
            return manifest
        name = f"{self.place(manifest.stage, manifest.key)}/manifest.json"
        earlier = self.manifest(manifest.stage, manifest.key)
        if earlier is None:
            if self.folder.create(name, _json_bytes(manifest)):
                return manifest
            earlier = self.manifest(manifest.stage, manifest.key)
        if earlier is None:  # it is there and cannot be read: nobody takes anything from it
            self.folder.write(name, _json_bytes(manifest))
            return manifest
        for output, mine in manifest.outputs.items():
            theirs = earlier.outputs.get(output)
            if theirs is None or theirs.artifact.digest != mine.artifact.digest:
                raise RunError(
                    f"Stage {manifest.stage} gave another {mine.artifact.kind} than run {earlier.run} did, under "
                    f"the same key {manifest.key}: it depends on something outside its settings and inputs (a clock, "
                    f"an unseeded draw, another machine). Run again with --fresh to replace the earlier one."
                )
        if self.damage(earlier):
            repaired = replace(earlier, outputs=manifest.outputs)
            self.folder.write(name, _json_bytes(repaired))
            return repaired
        return earlier

    def settle(self, held: Manifest, again: Manifest, key: str, notice: Callable[[str], None]) -> Manifest:
        """Which manifest stands for a key that was computed again: the one held, where both say the same, else the new.

        The earlier result stays where the records of earlier runs look for it.
        """
        if again.quarantined:
            return again
        differing = [
            output.artifact.kind
            for name, output in again.outputs.items()
            if name not in held.outputs or held.outputs[name].artifact.digest != output.artifact.digest
        ]
        if not differing:
            self.folder.remove(f"{self.place(again.stage, again.key)}/manifest.json")
            self.folder.remove(self.place(again.stage, again.key))
            return held
        self.folder.write_json(self._successor_name(again.stage, key), {"key": again.key, "run": again.run})
        notice(
            f"{again.title}: computed again, it gave another {differing[0]} than run {held.run} did with the same "
            "settings and inputs; the new one is kept (a file, a service, a clock or an unseeded draw has changed it)"
        )
        return again

    @staticmethod
    def _successor_name(stage: str, key: str) -> str:
        return f"successors/{stage}/{key}.json"

    def output(self, artifact: Artifact[Kind]) -> Output:
        """The committed output behind a handle, with its parts."""
        # By the end of the uri only: a store that was moved, or is mounted elsewhere here, holds the same things.
        place = artifact.uri.rstrip("/").split("/")[-3:]
        if len(place) < len(("stage", "key", "output")):
            raise InputError(f"{artifact.uri!r}, which a record names, is no place in the store {self.url}: run again.")
        stage, key, _ = place
        if output := self._matching(self._manifests.get((stage, key)), artifact):
            return output
        for name in (f"{self.place(stage, key)}/manifest.json", self._partial_name(stage, key)):
            manifest = self._readable(name)
            if manifest and (output := self._matching(manifest, artifact)):
                self._manifests[stage, key] = manifest
                return output
        raise RunError(
            f"The {artifact.kind} at {artifact.uri} is not in the store any more (cleaned, or deleted): run again."
        )

    def _partial_name(self, stage: str, key: str) -> str:
        return f"{self.place(stage, key)}/manifest-partial.json"

    @staticmethod
    def _matching(manifest: Manifest | None, artifact: Artifact[Kind]) -> Output | None:
        outputs = manifest.outputs.values() if manifest else ()
        place = artifact.uri.rsplit("/", 1)[-1]
        wanted = (artifact.kind, artifact.digest, place)
        return next(
            (
                one
                for one in outputs
                if (one.artifact.kind, one.artifact.digest, one.artifact.uri.rsplit("/", 1)[-1]) == wanted
            ),
            None,
        )

    @cached_property
    def _manifests(self) -> dict[tuple[str, str], Manifest]:
        return {}

    def save_run(self, record: RunRecord, aside: bool = False) -> None:
        """Write down what a run has done so far; of one that stands aside, where nobody takes it for a night."""
        self.folder.write_json(f"{'asides' if aside else 'runs'}/{record.id}.json", record.to_json())

    def forget_aside(self, run_id: str) -> None:
        """Remove the record of a run that stood aside."""
        self.folder.remove(f"asides/{run_id}.json")

    def asides(self) -> list[RunRecord]:
        """The records of runs that stand aside just now, or were killed there."""
        names = sorted(name for name in self.folder.sizes("asides") if name.endswith(".json"))
        return [record for name in names if (record := self._record_in(name)) is not None]

    def run(self, run_id: str) -> RunRecord:
        """The record of a run by its id, or by the last part of it."""
        stored = self.record(run_id)
        if stored is not None:
            return stored
        matches = [record for record in self.runs() if record.id.endswith(run_id)]
        if len(matches) == 1:
            return matches[0]
        latest = f" The latest is {self.runs()[-1].id}." if self.runs() else " No run is recorded there."
        raise InputError(f'There is no run "{run_id}" in {self.url}.{latest} (assay runs shows all)')

    def record(self, run_id: str) -> RunRecord | None:
        """The record of exactly that run; None where there is none yet, or where the file is no record of a run."""
        return self._record_in(f"runs/{run_id}.json")

    def _record_in(self, name: str) -> RunRecord | None:
        value = self.folder.read_json(name)
        try:
            return RunRecord.from_json(value) if value else None
        except _MALFORMED:
            return None

    def require_records(self) -> None:
        """Raises where a file among the records of runs cannot be read: what its run used is not known then."""
        for name in self._record_names():
            if self.record(name) is None:
                raise InputError(
                    f"{self.url}/runs/{name}.json is no record of a run, so nobody knows which results it used: mend "
                    "or delete it first; nothing was removed."
                )

    def _record_names(self) -> list[str]:
        names = sorted(name for name in self.folder.sizes("runs") if name.count("/") == 1 and name.endswith(".json"))
        return [name[len("runs/") : -len(".json")] for name in names]

    def runs(self, pipeline: str | None = None) -> list[RunRecord]:
        """All recorded runs, oldest first."""
        records = [record for name in self._record_names() if (record := self.record(name)) is not None]
        records.sort(key=lambda one: (one.started, one.id))
        return [record for record in records if pipeline in (None, record.pipeline)]


def _json_bytes(manifest: Manifest) -> bytes:
    import json

    return json.dumps(manifest.to_json(), indent=1, sort_keys=True, ensure_ascii=False).encode()
