"""What else may be bad: entries of logs, files of the home, updates, answers of models, clocks, and
whoever connects."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any, get_args
from urllib.parse import urlsplit

import msgspec

from nanobot.session.entries import Body
from nanobot.system import SystemClock
from tests.doubles.openai_server import Answer, Fault, events, sse
from tests.poison.judging import Case, nothing
from tests.poison.rows import VICTIMS, speak
from tests.poison.world import VICTIM, Served

MOST = len(VICTIMS)
"""So many answers are poisoned at once: each chat has one."""
BAD: dict[str, Any] = {
    "null": None,
    "text": "what nobody knows",
    "negative": -(2**62),
    "huge": 10**40,
    "infinite": 1e999,
    "list": [[]],
    "object": {"a": {}},
    "true": True,
    "odd text": "\ud83d\u202e\x01" + "9" * 10_000,
}


def mutations(document: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    """The document with one value replaced, for each value in it and each bad one; and without."""
    for what, value in BAD.items():
        yield f"{path} = {what}", value
    if isinstance(document, dict | list):
        inner = document.items() if isinstance(document, dict) else enumerate(document)
        for key, value in inner:
            for name, changed in mutations(value, f"{path}.{key}"):
                copy = document.copy()
                copy[key] = changed
                yield name, copy


def grouped(cases: list[tuple[str, Any]], size: int) -> Iterator[list[tuple[str, Any]]]:
    for at in range(0, len(cases), size):
        yield cases[at : at + size]


def _named(kind: str, group: list[tuple[str, Any]]) -> str:
    return (
        f"{kind}: {group[0][0]} ... {group[-1][0]}" if len(group) > 1 else f"{kind}: {group[0][0]}"
    )


# Entries of logs


def example(of: type) -> Any:
    """A document of that type with all its fields."""
    return _example(msgspec.inspect.type_info(of))


def _example(kind: Any) -> Any:
    made = _MADE.get(type(kind))
    return "x" if made is None else made(kind)


def _struct(kind: msgspec.inspect.StructType) -> Any:
    fields = {field.encode_name: _example(field.type) for field in kind.fields}
    if kind.array_like:
        return [*([] if kind.tag is None else [kind.tag]), *fields.values()]
    return fields if kind.tag_field is None else {kind.tag_field: kind.tag, **fields}


_MADE: dict[type, Callable[[Any], Any]] = {
    msgspec.inspect.StructType: _struct,
    msgspec.inspect.UnionType: lambda kind: _example(kind.types[0]),
    msgspec.inspect.EnumType: lambda kind: next(iter(kind.cls)).value,
    msgspec.inspect.LiteralType: lambda kind: kind.values[0],
    msgspec.inspect.IntType: lambda _: 1,
    msgspec.inspect.FloatType: lambda _: 1.0,
    msgspec.inspect.BoolType: lambda _: False,
    msgspec.inspect.NoneType: lambda _: None,
    msgspec.inspect.DictType: lambda _: {},
    msgspec.inspect.VarTupleType: lambda _: [],
    msgspec.inspect.ListType: lambda _: [],
    msgspec.inspect.TupleType: lambda kind: [_example(item) for item in kind.item_types],
}


def entries() -> list[tuple[str, Any]]:
    """Every type of entry, with each of its fields spoiled, and bytes that are no entry."""
    found = [(f"entry {name}", data) for name, data in {"bytes": b"\xff{", "nothing": b""}.items()]
    for of in get_args(Body):
        for name, document in mutations(example(of)):
            data = json.dumps(document).encode("utf-8", "surrogatepass")
            found.append((f"{of.__name__}{name[1:]}", data))
    return found


def in_logs(group: list[tuple[str, Any]]) -> Case:
    """These are the last entries of the poisoned chats' logs."""

    def poison(home: Path) -> None:
        query = (
            "UPDATE entries SET payload = ? WHERE session_key = ? AND seq ="
            " (SELECT max(seq) FROM entries WHERE session_key = ?)"
        )
        with closing(sqlite3.connect(home / "state.db")) as connection, connection:
            for chat, (_, data) in zip(VICTIMS, group, strict=False):
                connection.execute(query, (data, f"telegram:{chat}", f"telegram:{chat}"))

    return Case(_named("entries", group), before=poison, meanwhile=speak)


# Files of the home


def _folder(path: Path) -> None:
    (path / "inner").mkdir(parents=True)


FILES: dict[str, Callable[[Path], object]] = {
    "gone": nothing,
    "empty": Path.touch,
    "unreadable": lambda path: path.write_bytes(b"\xff\xfe{\x00"),
    "a folder": _folder,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("/nonexistent/nothing"),
    "large": lambda path: path.write_bytes(b"- x " * 2_000_000),
    "a pipe": os.mkfifo,
}
INSTEAD = ("gone", "empty", "a link to itself", "a link to nothing", "a pipe")
"""What may be there instead of a folder."""
KEPT = ("state.db", "config.toml", "state.lock", "worker.lock", ".sock")
"""What a gateway cannot do without, and refuses in a sentence when it is not well."""


def files(home: Path) -> Iterator[Case]:
    """Every file and folder of a home, and a name that is no UTF-8 in every folder."""
    for path in sorted(home.rglob("*")):
        place = path.relative_to(home)
        if path.is_dir():
            yield Case(f"{place}/ holds odd names", before=_odd_names(place))
            for what in INSTEAD if place != Path("workspace") else ():
                yield Case(f"{place}/ is {what}", before=_replaced(place, FILES[what]))
        elif not any(part in path.name for part in KEPT):
            for what, make in FILES.items():
                yield Case(f"{place} is {what}", before=_replaced(place, make))


def _odd_names(place: Path) -> Callable[[Path], None]:
    def poison(home: Path) -> None:
        for name in (b"caf\xe9.md", b"a\nb.md", b" "):
            (home / place / os.fsdecode(name)).write_bytes(b"- odd\n")
        (home / place / os.fsdecode(b"folder\xff")).mkdir()

    return poison


def _replaced(place: Path, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def poison(home: Path) -> None:
        path = home / place
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        make(path)

    return poison


# What comes from outside


def updates() -> list[tuple[str, Any]]:
    """Every field of an update of a chat that may speak, spoiled."""
    person = {"id": VICTIM, "is_bot": False, "first_name": "Eve"}
    chat = {"id": VICTIM, "type": "private", "first_name": "Eve"}
    message = {
        "message_id": 900_000_000,
        "date": 1_800_000_000,
        "chat": chat,
        "from": person,
        "text": "say:odd",
        "entities": [{"type": "bold", "offset": 0, "length": 3}],
        "photo": [{"file_id": "F", "file_unique_id": "F", "width": 9, "file_size": 10}],
        "reply_to_message": {"message_id": 1, "date": 1, "chat": chat, "from": person},
    }
    query = {"id": "1", "from": person, "message": message, "data": "x", "chat_instance": "1"}
    reaction = {"chat": chat, "message_id": 1, "user": person, "date": 1, "new_reaction": []}
    whole = {
        "message": message,
        "edited_message": message | {"edit_date": 1_800_000_001},
        "callback_query": query,
        "message_reaction": reaction,
    }
    return [
        (f"{kind}{name[1:]}", {kind: changed})
        for kind, document in whole.items()
        for name, changed in mutations(document)
    ]


def pushed(group: list[tuple[str, Any]]) -> Case:
    def push(here: Served) -> None:
        for _, update in group:
            here.telegram.push(**update)

    return Case(_named("updates", group), meanwhile=push)


def answers() -> list[tuple[str, Any]]:
    """Streams of a model in which one value of one event is spoiled."""
    found: list[tuple[str, Any]] = [
        ("bytes", b"\xff\xfe\x00"),
        ("half an event", b'data: {"choices":[{"del'),
        ("an endless line", b"data: " + b"x" * 3_000_000),
    ]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    whole = {
        "text": events(Answer("hi"), usage),
        "call": events(Answer(tool_calls=[("memory_search", '{"query": "x"}')]), usage),
    }
    for kind, stream in whole.items():
        for number, event in enumerate(stream):
            for name, changed in mutations(event):
                spoiled = [*stream[:number], changed, *stream[number + 1 :]]
                found.append((f"{kind} {number}{name[1:]}", sse(spoiled)))
    return found


def answering(group: list[tuple[str, Any]]) -> Case:
    """These are what the model answers to the poisoned chats, one each."""

    def poison(here: Served) -> None:
        for chat, (_, data) in zip(VICTIMS, group, strict=False):
            here.model.poisoned[f"poisoned {chat}"] = Fault(raw=data)
        speak(here)

    return Case(_named("answers", group), meanwhile=poison)


class OddClock(SystemClock):
    """A clock on the wall that says something else, always or every other time."""

    def __init__(self, reading: float, *, jumps: bool = False) -> None:
        self._reading = reading
        self._jumps = jumps
        self._asked = 0

    def reading(self) -> float:
        self._asked += 1
        return super().reading() if self._jumps and self._asked % 2 else self._reading


CLOCKS = {
    "1970": 0.0,
    "before 1970": -1e9,
    "2100": 4_102_444_800.0,
    "year 9999": 253_402_300_000.0,
    "beyond all calendars": 1e18,
}


def clocks() -> Iterator[Case]:
    for name, reading in CLOCKS.items():
        without = "job" if reading <= 0 else ""
        yield Case(f"the clock says {name}", clock=OddClock(reading), without=without)
        jumping = OddClock(reading, jumps=True)
        yield Case(f"the clock jumps to {name}", clock=jumping, without=without)


REQUESTS: dict[str, bytes] = {
    "nothing": b"",
    "bytes": b"\xff\xfe\x00" * 100,
    "half a request": b"POST /hooks/ci HTTP/1.1\r\nContent-Length: 100\r\n\r\n{",
    "a body that is none": b"POST /hooks/ci HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    "an endless line": b"GET /" + b"a" * 200_000,
    "json": b'{"type":"call","name":7}\n',
    "an endless document": b"[" * 100_000 + b"\n",
    "a line of another program": b"SSH-2.0-OpenSSH_9.6\r\n",
}


def callers() -> Iterator[Case]:
    """Who connects to the web server, or to the control socket, and says something else."""
    for name, data in REQUESTS.items():
        yield Case(f"over HTTP comes {name}", meanwhile=_sent(data, control=False))
        yield Case(f"over the control socket comes {name}", meanwhile=_sent(data, control=True))


def _sent(data: bytes, *, control: bool) -> Callable[[Served], None]:
    def send(here: Served) -> None:
        for _ in range(5):
            if control:
                opened = socket.socket(socket.AF_UNIX)
                place: Any = str(here.home / "control.sock")
            else:
                opened = socket.socket()
                url = urlsplit(here.parts.http.url)
                place = (url.hostname, url.port)
            opened.setblocking(False)
            here.connections.append(opened)
            with suppress(OSError):
                opened.connect(place)
            asyncio.get_running_loop().call_later(0.1, _say, opened, data)

    return send


def _say(opened: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        opened.send(data)


assert math.isinf(BAD["infinite"])

KINDS: dict[str, Callable[[Path], Iterable[Case]]] = {
    "entries": lambda _: map(in_logs, grouped(entries(), MOST)),
    "answers": lambda _: map(answering, grouped(answers(), MOST)),
    "updates": lambda _: map(pushed, grouped(updates(), 40)),
    "files": files,
    "clocks": lambda _: clocks(),
    "callers": lambda _: callers(),
}
"""All that is bad besides rows, given a home that is well."""


def some(home: Path) -> list[Case]:
    """A few of each kind."""
    random = Random(2)
    return [
        in_logs(random.sample(entries(), MOST)),
        answering(random.sample(answers(), MOST)),
        pushed(random.sample(updates(), 30)),
        *random.sample(list(files(home)), 2),
        *random.sample(list(clocks()), 1),
        *random.sample(list(callers()), 1),
    ]
