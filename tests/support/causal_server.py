"""A real causal language model, tiny and untrained, behind a server that speaks `/v1/chat/completions`.

Its tokens are bytes. With `guided_choice` it says the likeliest of these words, as vLLM does; without, what it would
say. Log probabilities are those of the first token, as the protocol lists them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import GPT2LMHeadModel

POSITIONS = 192


def tiny_model() -> GPT2LMHeadModel:
    """A GPT-2 of two layers whose weights are drawn; the same each time."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "initializer_range": 0.5}
    return GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=POSITIONS, **sizes)).eval()


class Bytes:
    """The model as it reads and writes text."""

    def __init__(self) -> None:
        self.model, self.one_at_a_time = tiny_model(), threading.Lock()

    def log_probabilities(self, text: str) -> torch.Tensor:
        """Of each byte to come next, after each byte of the text, [n, 256]."""
        import torch

        with torch.no_grad(), self.one_at_a_time:
            ids = torch.tensor([list(text.encode()[-POSITIONS:])])
            return self.model(ids).logits[0].log_softmax(dim=-1)

    def of(self, prompt: str, word: str) -> float:
        """The log probability of a word after a prompt."""
        after = self.log_probabilities(prompt + word)
        places = range(len(after) - len(word.encode()), len(after))
        return sum(float(after[place - 1, byte]) for place, byte in zip(places, word.encode(), strict=True))

    def says(self, prompt: str, length: int) -> str:
        """The likeliest bytes, one by one."""
        text = prompt
        for _ in range(length):
            text += chr(int(self.log_probabilities(text)[-1].argmax()) % 128)
        return text[len(prompt) :]


def answer(served: Bytes, asked: dict[str, Any]) -> dict[str, Any]:
    """An answer as the protocol has it."""
    prompt = "\n".join(message["content"] for message in asked["messages"]) + "\n"
    choices = asked.get("guided_choice")
    said = max(choices, key=lambda word: served.of(prompt, word)) if choices else served.says(prompt, 4)
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    if asked.get("logprobs"):
        first = served.log_probabilities(prompt)[-1]
        top = [{"token": word[0], "logprob": float(first[ord(word[0])])} for word in choices or said]
        choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    usage = {"prompt_tokens": len(prompt), "completion_tokens": len(said)}
    return {"model": "tiny", "system_fingerprint": "seed 0", "choices": [choice], "usage": usage}


@contextmanager
def causal_server() -> Iterator[tuple[str, Bytes]]:
    """The address of the model's server while the block lasts, and the model."""
    served = Bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answer(served, asked)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions", served
    finally:
        server.shutdown()
