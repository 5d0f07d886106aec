"""The child process that runs the embedded model; started by embedded.py, never manually.

    python -m nanobot.plugins.embedded.server --model FILE --context N --slots N --parent PID

The API key is the first line of stdin, so that it does not appear in process lists. One line `ready
http://127.0.0.1:PORT` on stdout says that the OpenAI-compatible server is ready there; the runner's
output goes to stderr. The process ends when stdin is closed or when its parent dies, in any way.
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
# A cache for prompts of chats that lost their slot; without a limit it would be 8 GiB.
_PROMPT_CACHE_MIB = 128

_MOST_THREADS = 4


def main(argv: list[str] | None = None) -> None:
    """Load the model, report readiness, and serve until stdin is closed."""
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
    # The server's own shutdown waits for running answers, which nobody can read any more.
    os._exit(0)


def _serve(model: str, context: int, slots: int, api_key: str) -> Any:
    # Not an import statement: the package has no types, and need not be installed for type
    # checking.
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.n_ctx = context * slots
    params.n_parallel = slots
    params.use_jinja = True
    # The threads of a step wait for the slowest one. On two busy cores, two threads wrote 1 to 13
    # tokens a second and one wrote 52 to 69; on two idle cores, two threads read twice as fast.
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = max(1, min(_MOST_THREADS, (os.cpu_count() or 1) // 2))
        threads.poll = 0
    # A model this small falls into a loop at the first phrase it repeats, and does not leave it.
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
    """Ask the kernel to end this process with its parent; if that is not possible, the end of stdin
    does it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the previous line
        os._exit(1)


if __name__ == "__main__":
    main()
