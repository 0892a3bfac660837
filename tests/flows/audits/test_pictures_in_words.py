"""A model that answers in words about pictures: asked with an image part, corrupted, asked again, and attacked where it
gives log probabilities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chat_server import chat_server
from direct_nights import latest, perform_night

from assay.infra.errors import InputError
from assay.tasks.statistics.findings import Finding, findings_of

PIPELINES = """
pipelines:
  night:
    source: {{parquet: pictures.parquet, id: id, image: image, label: answer}}
    evaluation: {{holdout: 0.9}}
    subject:
      name: seer
      network: "{url}"
      asking: {{model: scripted, prompt: prompt.txt, at_once: 8, answers: {{spam: [], ham: []}}{more}}}
"""
CORRUPTED = "    corruptions: {perturbations: [brightness], severities: [1], frames: 3, show: 0}\n"


def project(folder: Path, url: str, more: str = "", parts: str = "") -> Path:
    """Forty pictures, of which the even ones are bright, which are spam."""
    draw = np.random.default_rng(0)
    pixels = [draw.integers(0, 100, (1, 16, 16)) + 120 * (at % 2 == 0) for at in range(40)]
    rows = [
        {"id": f"p{at:02d}", "image": picture.tolist(), "answer": "ham" if at % 2 else "spam"}
        for at, picture in enumerate(pixels)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "pictures.parquet")
    (folder / "prompt.txt").write_text("Is this picture spam or ham?\n{image}\nOne word.")
    (folder / "pipelines.yaml").write_text(PIPELINES.format(url=url, more=more) + parts)
    return folder


def measured(folder: Path) -> dict[tuple[str, str], Finding]:
    return {(each.metric, each.of): each for each in findings_of(*latest(folder, "night")) if not each.group}


def test_pictures_are_shown_and_what_names_no_class_is_wrong(tmp_path: Path) -> None:
    with chat_server(tmp_path / "server") as server:
        assert perform_night(project(tmp_path, server.at("mixed")), "night").exit_code == 0
        findings, asked = measured(tmp_path), server.asked()
    (start, picture, end) = asked[-1]["asked"]["messages"][-1]["content"]
    assert (start["text"], end["text"]) == ("Is this picture spam or ham?\n", "\nOne word.")
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    none = {each["text"] for each in asked if each["text"][-1] in "012"}
    unanswered, right = findings["subject.unanswered", "clean"], findings["subject.accuracy", "clean"]
    assert unanswered.value
    assert unanswered.value == len(none) / (unanswered.n or 1)
    assert right.value == 1 - unanswered.value
    area = findings["subject.auc", "clean"]
    assert area.value is None  # there are no log probabilities


def test_a_picture_that_is_asked_about_again_shows_the_noise_floor_beside_its_corruptions(tmp_path: Path) -> None:
    floor: list[float] = []
    with chat_server(tmp_path / "server") as server:
        for flips in (0.0, 0.2):
            server.serves(flips=flips)
            folder = tmp_path / f"flips-{flips}"
            folder.mkdir()
            perform_night(project(folder, server.at(), ", repeats: 4", CORRUPTED), "night")
            by_chance = measured(folder)["attack.flips_by_chance", "nothing"]
            truth = 2 * flips * (1 - flips)  # two draws of one picture differ
            assert by_chance.low is not None
            assert by_chance.high is not None
            assert by_chance.low <= truth <= by_chance.high
            floor.append(by_chance.value or 0.0)
            by_name = {(each.metric, each.of, each.group): each for each in findings_of(*latest(folder, "night"))}
            flipped = by_name["corruption.flip_probability", "mean", "all"]
            above, bright = (by_name["corruption.above_chance", of, "all"] for of in ("mean", "brightness"))
            assert (above.value, above.n) == (bright.value, 34)
            assert flipped.value is not None
            assert above.value == pytest.approx(flipped.value - (by_chance.value or 0.0))
            assert (above.low or 0.0) <= 0.0 <= (above.high or 0.0)  # so little light changes no answer
            assert above.verdict == "no more than chance"
            page = Path(str(latest(folder, "night")[1].report)).read_text()
            assert "of its answers. From frame to frame of corruptions " in page
    assert floor[0] == 0.0


@pytest.mark.slow
def test_what_an_attack_finds_by_chance_is_told_from_what_it_does(tmp_path: Path) -> None:
    """Five levels never make a bright picture dark, and a length of 6 always does."""
    attacks = "    attacks: [{attack: square, eps: 0.02, queries: 12}, {attack: hopskipjump, eps: 6, queries: 12}]\n"
    with chat_server(tmp_path / "server") as server:
        for flips in (0.05, 0.0):
            server.serves(flips=flips)
            folder = tmp_path / f"flips-{flips}"
            folder.mkdir()
            perform_night(project(folder, server.at(), ", repeats: 3", attacks), "night")
            found = {(each.metric, each.of, each.group): each for each in findings_of(*latest(folder, "night"))}
            by_chance, works = (
                found["attack.above_chance", *each] for each in (("square", "eps=0.02"), ("hopskipjump", "l2=6"))
            )
            assert by_chance.verdict == "no more than chance"
            assert works.verdict == "more than chance"
            assert by_chance.n == works.n == 34
            assert (by_chance.low or 0.0) <= 0.0 <= (by_chance.high or 0.0)
            fell = 1 - (found["attack.accuracy", "square", "eps=0.02"].value or 0.0)
            page = Path(str(latest(folder, "night")[1].report)).read_text()
            assert "Beyond that, attacks change: hopskipjump (l2=6) " in page
            if flips:
                assert fell > 0.2  # among so many draws there is a flip
        assert (fell, by_chance.value) == (0.0, 0.0)
        assert works.value == 1 - (found["attack.accuracy", "hopskipjump", "l2=6"].value or 0.0)


@pytest.mark.parametrize(
    ("more", "attack", "group"),
    [
        (", logprobs: true", "attack: square, eps: 0.3, queries: 4", "eps=0.3"),
        ("", "attack: square, eps: 0.3, queries: 4", "eps=0.3"),
        ("", "attack: hopskipjump, eps: 6, queries: 12", "l2=6"),
    ],
)
def test_attacks_keep_to_their_questions_by_log_probabilities_or_answers_alone(
    tmp_path: Path, more: str, attack: str, group: str
) -> None:
    attacks, most = f"    attacks: [{{{attack}}}]\n", int(attack.rpartition(" ")[2])
    with chat_server(tmp_path / "server") as server:
        folder = project(tmp_path, server.at(), more, attacks)
        assert perform_night(folder, "night").exit_code == 0
        under = [each for each in findings_of(*latest(folder, "night")) if each.metric == "attack.accuracy"]
        (attacked,) = (each for each in under if each.group == group)
        assert attacked.value is not None
        assert attacked.value < 1 or "square" in attack  # four questions find it nothing
        assert len(server.asked()) <= 40 * (most + 2) + 40


@pytest.mark.parametrize(
    ("prompt", "more", "parts", "complaint"),
    [
        ("{text}?", "", "", r"has no \{image\}: write it where a sample's image"),
        ("{image}?", "", "    attacks: [orbit]\n", "no subject answers in words"),
        ("{image}?", ", form: completions", "", r"of pictures \(chat\) as `network`"),
    ],
)
def test_what_pictures_cannot_be_asked_is_refused(
    tmp_path: Path, prompt: str, more: str, parts: str, complaint: str
) -> None:
    project(tmp_path, "http://127.0.0.1:9/v1/chat/completions", more, parts)
    (tmp_path / "prompt.txt").write_text(prompt)
    with pytest.raises(InputError, match=complaint):
        perform_night(tmp_path, "night")
