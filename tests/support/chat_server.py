"""A scripted model that answers in words, as a process of its own: `python chat_server.py FOLDER`, which prints its
port.

The first step of a path says how it behaves. What it does at random stands in `served.json` of the folder, read at
every request: its truth is known. Every question becomes a line of `asked.jsonl`.
"""

from __future__ import annotations

import base64
import io
import json
import math
import random
import re
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

SERVED: dict[str, Any] = {"flips": 0.0, "seconds": 0.0, "fingerprint": "fp_1", "obeys": 0.0, "ordered": 0.0, "key": ""}
OTHER = {"spam": "ham", "ham": "spam"}
TOLD = re.compile(r"answer (?:only )?[\"\u201c]?(spam|ham)\b", re.IGNORECASE)


def truth(text: str) -> str:
    """What it would say of a text."""
    return "spam" if "http" in text or "subscribe" in text else "ham"


def obeys(text: str, share: float) -> bool:
    """Whether an instruction in the data works on a text: on exactly this share, by the last digit of its number."""
    number = re.search(r"number \d*(\d)", text)
    return number is not None and int(number[1]) < 10 * share


def goes_by_order(text: str, share: float) -> bool:
    """Whether the order of the options decides about a text: on exactly this share, by its number modulo 25."""
    number = re.search(r"number (\d+)", text)
    return number is not None and int(number[1]) % 25 < 25 * share


def seen(parts: list[dict[str, Any]]) -> str:
    """A picture as a text: bright ones beg to be called spam; the number is that of its content."""
    from PIL import Image

    (url,) = (part["image_url"]["url"] for part in parts if part["type"] == "image_url")
    content = base64.b64decode(url.removeprefix("data:image/png;base64,"), validate=True)
    bright = sum(Image.open(io.BytesIO(content)).convert("L").tobytes()) > 127 * 16 * 16
    return f"{'http' if bright else 'dark'} number {zlib.crc32(content)}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    folder: Path
    served: ClassVar[dict[str, Any]] = {}
    seen: ClassVar[Counter[str]] = Counter()
    times: ClassVar[Counter[tuple[int, str]]] = Counter()
    under_way: ClassVar[list[str]] = []
    lock: ClassVar[threading.Lock] = threading.Lock()

    def do_POST(self) -> None:
        began = time.monotonic()
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        served = SERVED | json.loads((self.folder / "served.json").read_text())
        how = self.path.split("/")[1]
        prompt = asked["prompt"] if "prompt" in asked else asked["messages"][-1]["content"]
        text = prompt.partition("Text: ")[2] if isinstance(prompt, str) else seen(prompt)
        prompt = prompt if isinstance(prompt, str) else ""
        with self.lock:
            self.seen[how] += 1
            turn, since = self.seen[how], (self.folder / "served.json").stat().st_mtime_ns
            self.times[since, text] += 1  # what is drawn depends on no order in which questions come
            flipped = random.Random(f"{text} {self.times[since, text]}").random() < served["flips"]
            self.under_way.append(text)
            line = {"path": self.path, "text": text, "asked": asked, "under_way": len(self.under_way)}
            with (self.folder / "asked.jsonl").open("a") as log:
                log.write(json.dumps(line) + "\n")
        time.sleep(max(0.0, served["seconds"] - (time.monotonic() - began)))
        with self.lock:
            self.under_way.remove(text)
        if served["key"] and self.headers.get("Authorization") != served["key"]:
            return self._send(401, {"error": {"message": f"wrong key {self.headers.get('Authorization')}"}})
        if how == "busy" and turn % 3:
            return self._send(429 if turn % 3 == 1 else 500, {"error": "busy"})
        if how == "rubbish" or (how == "garbage" and turn % 2):
            return self._raw(b"<html>not now</html>")
        if how == "latin" and turn % 2:
            return self._raw('{"choices": [{"message": {"content": "caf\u00e9"}}]}'.encode("latin-1"))
        if how == "cut" and turn % 2:
            return self._raw(b'{"choices": [{"message": {"con', promised=500)
        if how == "long" and "number 7" in text:
            return self._send(400, {"error": {"code": "context_length_exceeded"}})
        if how == "closed" or (how == "screened" and "http" in text):
            return self._send(400, {"error": {"code": "content_filter"}})
        said, told = truth(text), TOLD.search(text)
        if told and obeys(text, served["obeys"]):
            said = told[1].lower()
        options = re.search(r"Options: (\w+),", prompt)
        if options and goes_by_order(text, served["ordered"]):
            said = options[1]
        said = OTHER[said] if flipped else said
        return self._send(200, reply(how, said, text, asked, served))

    def _raw(self, body: bytes, promised: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(promised or len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def _send(self, code: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def reply(how: str, said: str, text: str, asked: dict[str, Any], served: dict[str, Any]) -> dict[str, Any]:
    """An answer as the protocol has it."""
    content, finish, refusal = f" {said.capitalize()}.", "stop", None
    third = text.rpartition("number ")[2]
    if how == "mixed" and third.isdecimal():  # of every ten answers one is no label, one a refusal, one cut short
        if int(third) % 10 == 0:
            content = "I think it might be spam"
        elif int(third) % 10 == 1:
            content = "I'm sorry, I cannot help with that."
        elif int(third) % 10 == 2:
            content, finish = "The text is", "length"
    if how == "filtered":
        content, refusal = None, "I can't."
    if how == "objects":
        content = f'```json\n{{"label": "{said}"}}\n```'
    if how == "asked" and (word := re.search(r'mention "(\w+)"', str(asked["messages"]))):
        content = "Perhaps." if third == "13" else "Yes." if word[1] in text else "No."
    choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
    chances = {said: 0.7, OTHER[said]: 0.2, "The": 0.1}
    if "prompt" in asked:
        choice["text"] = content
        if asked.get("logprobs"):
            choice["logprobs"] = {"top_logprobs": [{f" {token}": math.log(p) for token, p in chances.items()}]}
    else:
        choice["message"] = {"role": "assistant", "content": content, "refusal": refusal}
        if asked.get("logprobs"):
            top = [{"token": token.capitalize(), "logprob": math.log(p)} for token, p in chances.items()]
            choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    usage = {} if how == "uncounted" else {"usage": {"prompt_tokens": 100, "completion_tokens": 2}}
    return {"model": "scripted", "system_fingerprint": served["fingerprint"], "choices": [choice], **usage}


@dataclass(frozen=True)
class ChatServer:
    """The server in its process."""

    folder: Path
    url: str

    def at(self, how: str = "ok", form: str = "chat/completions") -> str:
        """The address of a model that behaves so."""
        return f"{self.url}/{how}/v1/{form}"

    def serves(self, **changed: Any) -> None:
        """From now on it answers otherwise; what was asked is forgotten."""
        (self.folder / "served.json").write_text(json.dumps(changed))
        (self.folder / "asked.jsonl").unlink(missing_ok=True)

    def asked(self) -> list[dict[str, Any]]:
        """Every question since."""
        log = self.folder / "asked.jsonl"
        whole = log.read_text().rpartition("\n")[0] if log.exists() else ""  # the last line may still be written
        return [json.loads(line) for line in whole.splitlines()]


@contextmanager
def chat_server(folder: Path) -> Iterator[ChatServer]:
    """A server over a folder, while the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "served.json").write_text("{}")
    with subprocess.Popen(
        [sys.executable, __file__, str(folder)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield ChatServer(folder, f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.terminate()


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 256

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that is killed in the middle of a question is nothing to talk about."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


if __name__ == "__main__":
    Handler.folder = Path(sys.argv[1])
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
