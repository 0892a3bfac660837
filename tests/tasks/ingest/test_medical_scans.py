"""DICOM and NIfTI: windows, slices and directions as their libraries have them, and nobody's name anywhere."""

from __future__ import annotations

import gzip
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from direct_nights import Heard, perform_night

from assay.data.images import COLUMNS
from assay.infra.errors import InputError
from assay.tasks.ingest.medical_scans import cut_volume, windowed
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.statistics.groups import GROUP

pydicom = pytest.importorskip("pydicom")
nibabel = pytest.importorskip("nibabel")

NAME, NUMBER = "Quixote^Alonso", "PID-730194"
AB = ["a", "b"]
LEFT_TO_RIGHT = [1, 0, 0, 0, 1, 0]


def write_dicom(place: Path, pixels: Any, patient: str = NUMBER, **tags: Any) -> Path:
    """A DICOM file that tells whose it is in every way that files do."""
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

    meta = FileMetaDataset()
    meta.TransferSyntaxUID, meta.MediaStorageSOPClassUID = ExplicitVRLittleEndian, CTImageStorage
    meta.MediaStorageSOPInstanceUID = generate_uid()
    one = FileDataset(str(place), {}, file_meta=meta, preamble=b"\0" * 128)
    one.SOPClassUID, one.SOPInstanceUID = CTImageStorage, meta.MediaStorageSOPInstanceUID
    one.PatientName, one.PatientID, one.PatientBirthDate = NAME, patient, "15470929"
    one.AccessionNumber, one.InstitutionName, one.PatientComments = "ACC-88Dulcinea", "Hospital de Toboso", NAME
    one.PatientSex, one.Modality, one.BodyPartExamined, one.ViewPosition = "M", "CT", "CHEST", "AP"
    array = np.asarray(pixels)
    colour = array.ndim == 3 and array.shape[2] == 3
    one.Rows, one.Columns = array.shape[:2] if array.ndim == 2 or colour else array.shape[1:]
    if array.ndim == 3 and not colour:
        one.NumberOfFrames = len(array)
    one.SamplesPerPixel, one.PhotometricInterpretation = (3, "RGB") if colour else (1, "MONOCHROME2")
    if colour:
        one.PlanarConfiguration = 0
    one.BitsAllocated = one.BitsStored = array.dtype.itemsize * 8
    one.HighBit, one.PixelRepresentation = one.BitsStored - 1, int(array.dtype.kind == "i")
    one.PixelData = array.tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for tag, value in tags.items():
            setattr(one, tag, value)
        place.parent.mkdir(parents=True, exist_ok=True)
        one.save_as(place, enforce_file_format=True)
    return place


def noise(seed: int, shape: tuple[int, ...] = (12, 10)) -> Any:
    return np.random.default_rng(seed).integers(-1000, 1000, shape).astype(np.int16)


def pictures(samples: Any) -> list[Any]:
    return [
        np.frombuffer(row["image"], np.uint8).reshape(row["channels"], row["height"], row["width"])
        for row in samples.select(list(COLUMNS)).to_pylist()
    ]


@pytest.mark.parametrize("curve", ["LINEAR", "LINEAR_EXACT", "SIGMOID"])
def test_a_window_shows_what_pydicom_shows(curve: Any) -> None:
    from pydicom.dataset import Dataset
    from pydicom.pixels import apply_windowing

    header = Dataset()
    header.WindowCenter, header.WindowWidth, header.VOILUTFunction = 40, 400, curve
    header.BitsStored, header.PixelRepresentation, header.PhotometricInterpretation = 16, 1, "MONOCHROME2"
    values = noise(0)
    theirs = apply_windowing(values, header)  # over the range of the 16 bits
    share = (
        (theirs - theirs.min()) / (theirs.max() - theirs.min())
        if curve != "SIGMOID"
        else (theirs + 2**15) / (2**16 - 1)
    )
    assert np.abs(windowed(values, 40, 400, curve) / 255 - share).max() < 0.5 / 255 + 1e-4


def test_a_frame_is_shown_by_its_own_window_or_by_the_one_asked_for(read: Any, tmp_path: Path) -> None:
    values = noise(1)
    write_dicom(
        tmp_path / "a.dcm", values, RescaleSlope=2, RescaleIntercept=-10, WindowCenter=[50, 1], WindowWidth=[300, 9]
    )
    own, asked = (
        read(classes=AB, dicom="a.dcm").samples,
        read(classes=AB, dicom="a.dcm", scan={"window": [0, 100]}).samples,
    )
    assert np.array_equal(pictures(own)[0][0], windowed(values * 2.0 - 10, 50, 300))
    assert np.array_equal(pictures(asked)[0][0], windowed(values * 2.0 - 10, 0, 100))


def test_inverted_greys_colours_and_turned_scans_come_out_as_seen(read: Any, tmp_path: Path) -> None:
    values = noise(2)
    write_dicom(tmp_path / "one" / "a.dcm", values, ImageOrientationPatient=LEFT_TO_RIGHT)
    write_dicom(tmp_path / "two" / "a.dcm", values, PhotometricInterpretation="MONOCHROME1")
    write_dicom(tmp_path / "three" / "a.dcm", values[:, ::-1], ImageOrientationPatient=[-1, 0, 0, 0, 1, 0])
    write_dicom(tmp_path / "four" / "a.dcm", values[::-1], ImageOrientationPatient=[0, 1, 0, 0, 0, 1])
    colour = np.random.default_rng(3).integers(0, 255, (6, 5, 3)).astype(np.uint8)
    write_dicom(tmp_path / "five" / "a.dcm", colour)
    first, inverted, mirrored, upside, rgb = (
        pictures(read(classes=AB, dicom=f"{name}/a.dcm").samples)[0] for name in ("one", "two", "three", "four", "five")
    )
    assert np.array_equal(first, 255 - inverted)
    assert np.array_equal(first, mirrored)
    assert np.array_equal(first, upside)
    assert np.array_equal(np.moveaxis(rgb, 0, -1), colour)


def test_a_palette_gives_its_colours_and_deep_colours_keep_their_range(read: Any, tmp_path: Path) -> None:
    codes = np.random.default_rng(4).integers(0, 4, (6, 5)).astype(np.uint8)
    colours = np.array([[0, 0, 0], [255, 0, 0], [0, 128, 0], [9, 9, 200]], np.uint16)
    palette: dict[str, Any] = {"PhotometricInterpretation": "PALETTE COLOR"}
    for at, name in enumerate(("Red", "Green", "Blue")):
        palette[f"{name}PaletteColorLookupTableDescriptor"] = [4, 0, 16]
        palette[f"{name}PaletteColorLookupTableData"] = (colours[:, at] * 257).tobytes()
    write_dicom(tmp_path / "palette.dcm", codes, **palette)
    assert np.array_equal(
        np.moveaxis(pictures(read(classes=AB, dicom="palette.dcm").samples)[0], 0, -1), colours[codes]
    )
    deep = np.full((6, 5, 3), 1000, np.uint16)
    write_dicom(tmp_path / "deep.dcm", deep, BitsStored=12, HighBit=11)
    assert np.unique(pictures(read(classes=AB, dicom="deep.dcm").samples)[0]).tolist() == [62]  # 1000 of 4095


def test_frames_are_rows_in_any_cut(read: Any, tmp_path: Path) -> None:
    write_dicom(tmp_path / "a.dcm", noise(4, (9, 8, 8)))
    write_dicom(tmp_path / "b.dcm", noise(5, (8, 8)), patient="PID-2")
    whole, cut = read(1, dicom="*.dcm", classes=AB).samples, read(4, dicom="*.dcm", classes=AB).samples
    assert whole.equals(cut)
    assert sorted(whole["slice"].to_pylist()) == sorted([*range(9), 0])
    assert len(set(whole[GROUP].to_pylist())) == 2
    few = read(classes=AB, dicom="*.dcm", scan={"slices": 3}).samples
    assert sorted(few["slice"].to_pylist()) == [0, 1, 4, 7]


def test_what_must_not_or_cannot_be_shown_is_rejected_with_its_reason(read: Any, tmp_path: Path) -> None:
    write_dicom(tmp_path / "a" / "a.dcm", noise(6))
    write_dicom(tmp_path / "a" / "b.dcm", noise(7), BurnedInAnnotation="YES")
    cut = write_dicom(tmp_path / "a" / "c.dcm", noise(8))
    cut.write_bytes(cut.read_bytes()[:-40])
    (tmp_path / "a" / "d.dcm").write_bytes(b"no scan" * 100)
    write_dicom(tmp_path / "sick-quixote" / "e.dcm", noise(9))
    found = read(dicom="*/*.dcm", label="folder", classes=["a", "b"])
    assert found.samples.num_rows == 1
    reasons = sorted(row[3] for row in found.reasons)
    assert [reason[:30] for reason in reasons] == [
        "its folder has the name or the",
        "its pixels have annotations bu",
        "the bytes are no DICOM file",
        "the file is damaged, or packed",
    ]
    assert not [reason for reason in reasons if "uixote" in reason.lower()]
    assert all(re.fullmatch(r"[0-9a-f]{16}", row[0]) for row in found.reasons)


def volume(folder: Path, name: str, codes: str = "RAS", seed: int = 0) -> Any:
    """A volume of random values, stored along the directions of `codes`; gives it along R, A, S."""
    values = np.random.default_rng(seed).normal(size=(7, 6, 5)).astype(np.float32)
    image = nibabel.Nifti1Image(values, np.eye(4))
    image.header["descrip"] = NAME.encode()
    turn = nibabel.orientations.ornt_transform(
        nibabel.orientations.axcodes2ornt("RAS"), nibabel.orientations.axcodes2ornt(codes)
    )
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(image.as_reoriented(turn), folder / name)
    return values


@pytest.mark.parametrize("plane", ["axial", "coronal", "sagittal"])
def test_volumes_are_cut_by_their_directions_however_they_are_stored(read: Any, tmp_path: Path, plane: str) -> None:
    values = volume(tmp_path, "sub-01/a.nii.gz", "RAS")
    volume(tmp_path, "sub-02/a.nii", "LPS")
    volume(tmp_path, "sub-03/a.nii.gz", "SAL")
    scan = {"plane": plane, "window": [0, 4]}
    one, two, three = (read(classes=AB, nifti=f"sub-0{n}/*", scan=scan).samples for n in (1, 2, 3))
    assert [row.tolist() for row in pictures(one)] == [row.tolist() for row in pictures(two)]
    assert [row.tolist() for row in pictures(one)] == [row.tolist() for row in pictures(three)]
    assert np.array_equal(pictures(one)[2][0], windowed(cut_volume(values, plane, 2), 0, 4))


def test_the_patients_right_is_at_the_left_and_the_front_on_top(read: Any, tmp_path: Path) -> None:
    values = np.zeros((4, 4, 1), np.float32)
    values[3, 3, 0] = 1  # right, front
    nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), tmp_path / "a.nii")
    found = pictures(read(classes=AB, nifti="a.nii", scan={"window": [0.5, 1.5]}).samples)[0][0]
    assert found.argmax() == 0


def test_slices_of_a_subject_are_one_group_and_of_others_another(read: Any, tmp_path: Path) -> None:
    for name in ("sub-01/ses-1/a.nii.gz", "sub-01/ses-2/b.nii.gz", "sub-02/c.nii.gz", "d.nii"):
        volume(tmp_path, name, seed=len(name))
    found = read(classes=AB, nifti="**/*.nii*", scan={"slices": 2}).samples
    groups = found[GROUP].to_pylist()
    assert len(groups) == 8
    assert sorted(groups.count(one) for one in set(groups)) == [2, 2, 4]


def test_a_damaged_volume_is_told_with_its_name_and_by_nobody_else(
    read: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    volume(tmp_path, "a.nii")
    whole = (tmp_path / "a.nii").read_bytes()
    (tmp_path / "b.nii").write_bytes(whole[:344] + b"5+1\0" + whole[348:])
    assert len(read(classes=AB, nifti="*.nii", max_rejects=0.9).reasons) == 1
    assert not [record for record in caplog.records if record.name.startswith("nibabel")]


def test_a_table_may_name_dicom_files_of_one_frame(read: Any, tmp_path: Path) -> None:
    values = noise(1)
    write_dicom(tmp_path / "a.dcm", values, WindowCenter=50, WindowWidth=300)
    write_dicom(tmp_path / "b.dcm", noise(2, (3, 12, 10)))
    (tmp_path / "t.csv").write_text("id,file,sick\n1,a.dcm,0\n2,b.dcm,1\n")
    found = read(csv="t.csv", id="id", image="file", label="sick", pixels={"channels": 1})
    assert np.array_equal(pictures(found.samples)[0][0], windowed(values, 50, 300))
    assert [row[3] for row in found.reasons] == ["the file holds 3 frames; give such files as `dicom`"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"dicom": "none/*.dcm"}, r"No file matches none/\*\.dcm \(dicom\)"),
        ({"dicom": "empty"}, r"empty \(dicom\) is a folder; name the files in it"),
        ({"nifti": "bad.nii"}, r"None of the images of [0-9a-f]{16} can be read"),
        ({"dicom": "a.dcm", "label": "diagnosis"}, "has no column 'diagnosis', which `label` names"),
    ],
)
def test_wrong_scans_are_one_sentence(read: Any, tmp_path: Path, more: dict[str, Any], sentence: str) -> None:
    write_dicom(tmp_path / "a.dcm", noise(1))
    (tmp_path / "bad.nii").write_bytes(gzip.compress(b"nothing")[:12])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=sentence) as caught:
        read(**more)
    assert "\n" not in str(caught.value)


def test_a_missing_library_says_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.tasks.ingest.sources import first_look

    write_dicom(tmp_path / "a.dcm", noise(1))
    monkeypatch.setitem(sys.modules, "pydicom", None)
    with pytest.raises(InputError, match=r"`dicom` is read by pydicom, .* pip install 'nibabel>=.* 'pydicom>="):
        first_look(resolve(Source(dicom="a.dcm"), tmp_path), None)


def test_a_window_needs_a_scan() -> None:
    with pytest.raises(ValueError, match="says nothing about `csv`, only about `dicom` and `nifti`"):
        Source(csv="a.csv", scan={"window": [40, 400]})


def everything_in(folder: Path) -> str:
    """All that the files of a folder say: their bytes and names, and what stands packed in their tables."""
    parts = []
    for file in sorted(folder.rglob("*")):
        parts.append(str(file.relative_to(folder)))
        if file.is_file():
            parts.append(file.read_bytes().decode("latin-1"))
            if file.suffix == ".parquet":
                table = pq.read_table(file)
                plain = [
                    name
                    for name, kind in zip(table.column_names, table.schema.types, strict=True)
                    if "binary" not in str(kind)
                ]
                parts += [str(table.schema), str(table.select(plain).to_pylist())]
    return "\n".join(parts)


def test_nothing_that_names_a_patient_is_in_any_artifact_page_or_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for at in range(60):
        kind = ("sick", "well")[at % 2]
        values = (noise(at, (16, 16)) + 900 * (at % 2)).astype(np.int16)
        write_dicom(tmp_path / "scans" / kind / f"{NUMBER}{at}_Quixote.dcm", values, patient=f"{NUMBER}{at // 2}")
    write_dicom(tmp_path / "scans" / "sick" / f"{NUMBER}_burned.dcm", noise(99, (16, 16)), BurnedInAnnotation="YES")
    (tmp_path / "pipelines.yaml").write_text(
        "pipelines:\n  night:\n    source: {dicom: scans, label: folder, scan: {window: [0, 2000]}}\n"
        "    evaluation: {holdout: 0.4}\n"
        "    subjects:\n      - {name: plain, network: small-cnn, train: {epochs: 1}}\n"
        "    attacks:\n      - fgsm: {eps: [0, 0.1]}\n    slices: [sex]\n"
    )
    heard = Heard()
    result = perform_night(tmp_path, "night", heard=heard)
    assert result.status == "done", heard.notices
    assert any(line.startswith("ingest: 60 samples, 1 rejected · 61 files") for line in heard.stages)
    said = everything_in(tmp_path / "store") + "".join(heard.stages + heard.notices) + "".join(capfd.readouterr())
    assert "burned in" in said  # what is looked through is what is there
    assert "patient-" in said
    for word in ("Quixote", "Alonso", NUMBER, "15470929", "Dulcinea", "Toboso"):
        assert word.lower() not in said.lower(), word
