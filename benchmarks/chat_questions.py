"""How fast a model that answers in words is asked, and what a killed run asks again.

    python benchmarks/chat_questions.py [--questions 10000] [--at-once 16]

A scripted server in a process of its own takes 50 ms for each question. So many at once could be answered at best in
questions × 0.05 s / at once: the claim's `limit`, the share of which is reached as `of_limit`. Then a run is killed
half way and another goes on with it: `asked_again` is the share of the questions that the server heard twice.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

from claims import claim, tell

from assay.infra.engines.opening import SerialEngine
from assay.infra.settings import Compute
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.subjects.addresses.given import Asking
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.model import OwnTextModel

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from chat_server import ChatServer, chat_server

SECONDS = 0.05


def ask(url: str, folder: Path, questions: int, at_once: int) -> None:
    """Every question, in a run over the store of the folder."""
    compute = Compute(engine="serial", gpu="never")
    store = Store(str(folder / "store")).open()
    asking = Asking(model="m", prompt="prompt.txt", answers={"spam": (), "ham": ()}, at_once=at_once, form="chat")
    with Run("asked", store, lambda: SerialEngine(compute), Progress(), compute=compute):
        subject = resolve_subject(Subject(classifier=url, asking=asking), folder)
        assert subject.code is not None
        OwnTextModel(subject.code, 2, names=("ham", "spam")).probabilities([f"song {at}" for at in range(questions)])


def seconds_of(server: ChatServer, folder: Path, questions: int, at_once: int) -> float:
    """How long an uninterrupted run asks."""
    began = time.monotonic()
    ask(server.at(), folder, questions, at_once)
    return time.monotonic() - began


def asked_again(server: ChatServer, folder: Path, questions: int, at_once: int) -> float:
    """The share of questions that were asked twice because the first run was killed half way."""
    server.serves(seconds=SECONDS)
    first = multiprocessing.get_context("fork").Process(target=ask, args=(server.at(), folder, questions, at_once))
    first.start()
    while len(server.asked()) < questions // 2:
        time.sleep(0.2)
    first.kill()
    first.join()
    ask(server.at(), folder, questions, at_once)
    return len(server.asked()) / questions - 1


def main() -> None:
    """Print the claims."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--questions", type=int, default=10_000)
    options.add_argument("--at-once", type=int, default=16)
    options.add_argument("--quick", action="store_true", help="whether it runs")
    given = options.parse_args()
    questions = 200 if given.quick else given.questions
    limit = questions * SECONDS / given.at_once
    with tempfile.TemporaryDirectory() as home, chat_server(Path(home, "server")) as server:
        folders = [Path(home, name) for name in ("whole", "killed")]
        for folder in folders:
            folder.mkdir()
            (folder / "prompt.txt").write_text("Spam or ham?\nText: {text}")
        server.serves(seconds=SECONDS)
        took = seconds_of(server, folders[0], questions, given.at_once)
        again = asked_again(server, folders[1], questions, given.at_once)
    tell(claim("questions in words", [took], [limit], unit="s", of_limit=round(limit / took, 3), asked_again=again))


if __name__ == "__main__":
    main()
