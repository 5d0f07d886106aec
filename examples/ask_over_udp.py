"""Ask the gateway of this machine over UDP, as a daemon or a script does; 1 is no answer.

UDP_TOKEN=... python examples/ask_over_udp.py "Why did the backup fail?"
"""

from __future__ import annotations

import json
import os
import socket
import sys
import uuid
from typing import TypedDict


class Answer(TypedDict):
    """One packet; an answer of more than 10,000 characters comes in several."""

    id: str
    text: str
    is_error: bool
    part: int
    parts: int


def ask(text: str, port: int, token: str) -> Answer:
    request = {"token": token, "id": uuid.uuid4().hex, "text": text, "session": "example"}
    with socket.socket(type=socket.SOCK_DGRAM) as script:
        script.settimeout(120)
        script.sendto(json.dumps(request).encode(), ("127.0.0.1", port))
        answer: Answer = json.loads(script.recv(65_536))
    return answer


if __name__ == "__main__":
    given = ask(sys.argv[1], int(os.environ.get("UDP_PORT", "8766")), os.environ["UDP_TOKEN"])
    print(given["text"])
    sys.exit(given["is_error"])
