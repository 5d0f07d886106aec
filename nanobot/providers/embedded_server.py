"""The child process that runs the embedded model; started by embedded.py, never by hand.

    python -m nanobot.providers.embedded_server --model FILE --context N --slots N --parent PID

The API key is the first line of stdin, so that no process list shows it. One line
`ready http://127.0.0.1:PORT` on stdout says that the OpenAI-compatible server answers there; all
that the runner prints goes to stderr. The process ends when stdin does or when its parent dies,
however the parent dies.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
# Prompts of chats that lost their slot, kept to be read back; unbounded would be 8 GiB.
_PROMPT_CACHE_MIB = 128

_MOST_THREADS = 4


def main(argv: list[str] | None = None) -> None:
    """Load the model, say so, and serve until stdin ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    chosen = parser.parse_args(argv)
    _die_with(chosen.parent)
    api_key = sys.stdin.buffer.readline().strip().decode()
    answers = os.dup(1)
    os.dup2(2, 1)
    server = _serve(chosen.model, chosen.context, chosen.slots, api_key)
    os.write(answers, f"ready {server.listening_address}\n".encode())
    sys.stdin.buffer.read()
    # The server's own farewell waits for running answers; nobody is left to read them.
    os._exit(0)


def _serve(model: str, context: int, slots: int, api_key: str) -> Any:
    # Not an import statement: the package has no types, and need not be installed to check ours.
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.n_ctx = context * slots
    params.n_parallel = slots
    params.use_jinja = True
    # The threads of a step wait for the slowest. On two busy cores two of them wrote 1 to 13
    # tokens a second and one wrote 52 to 69; on two quiet ones they are twice as fast at reading.
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = max(1, min(_MOST_THREADS, (os.cpu_count() or 1) // 2))
        threads.poll = 0
    # So small a model falls into a loop at the first phrase that it repeats, and stays there.
    params.sampling.dry_multiplier = 0.8
    params.sampling.dry_allowed_length = 3
    params.sampling.penalty_repeat = 1.1
    params.sampling.penalty_last_n = 256
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = 2
    return xllamacpp.Server(params)


def _die_with(parent: int) -> None:
    """Ask the kernel to end this process with its parent; where it cannot, stdin's end does it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)


if __name__ == "__main__":
    main()
