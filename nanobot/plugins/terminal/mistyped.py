"""Words that are not a command: suggests the command that was probably meant, and how to send the
words to the assistant.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_MOST_WORDS = 3
_NEAR = 0.6
_MISTYPED = 0.75
_SHOWN = 4
# The names in other programs, by the first word.
_ELSEWHERE = {
    "ask": ("agent",),
    "auth": ("onboard", "config set"),
    "begin": ("gateway", "service install"),
    "bot": ("gateway",),
    "chat": ("agent",),
    "configure": ("onboard", "config set"),
    "daemon": ("service install", "gateway"),
    "debug": ("logs", "doctor"),
    "exit": ("service status",),
    "health": ("status", "doctor"),
    "history": ("sessions list", "runs list"),
    "info": ("status", "version"),
    "init": ("onboard",),
    "install": ("service install", "onboard"),
    "key": ("config set", "onboard"),
    "kill": ("service uninstall", "runs cancel"),
    "log": ("logs",),
    "login": ("onboard", "dashboard"),
    "message": ("agent", "send"),
    "ps": ("runs list", "status"),
    "quit": ("service status",),
    "repl": ("agent",),
    "run": ("gateway", "agent"),
    "serve": ("gateway",),
    "server": ("gateway", "service status"),
    "setup": ("onboard",),
    "start": ("gateway", "service install"),
    "stop": ("sessions stop", "service uninstall"),
    "talk": ("agent",),
    "terminal": ("agent",),
    "ui": ("dashboard",),
    "webui": ("dashboard",),
}


def looks_like_a_command(words: Sequence[str], paths: Sequence[str]) -> bool:
    """Whether these words are more likely a mistyped command than a message: a single word, a
    mistyped command with its arguments, or a few words that all occur in commands. A message would
    cost money.
    """
    said = [word for word in words if not word.startswith("-")]
    first = {path.split()[0] for path in paths}
    if difflib.get_close_matches(said[0], first, 1, _MISTYPED):
        return True
    if not all(_WORD.fullmatch(word) for word in said):
        return False
    there = (*paths, *(path for known in _ELSEWHERE.values() for path in known))
    known = {*_ELSEWHERE, *(word for path in there for word in path.split())}
    return len(said) == 1 or (len(said) <= _MOST_WORDS and all(word in known for word in said))


def nearest(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The commands that may be meant, the most likely first."""
    said = [word.lower() for word in words if not word.startswith("-")]
    words_known = {word for path in paths for word in path.split()}
    meant = [(difflib.get_close_matches(word, words_known, 1, _NEAR) or [word])[0] for word in said]
    same = [path for path in paths if sorted(path.split()) in (sorted(said), sorted(meant))]
    same += [path for path in paths if path.split() == meant[:2]]
    named = [path for word in said for path in paths if word in path.split()]
    elsewhere = [path for word in said[:1] for path in _ELSEWHERE.get(word, ()) if path in paths]
    singles = {path.split()[-1]: path for path in sorted(paths, key=_depth, reverse=True)}
    singles |= {path.split()[0]: f"{path.split()[0]} --help" for path in paths if " " in path}
    close = difflib.get_close_matches(said[0], singles, _SHOWN, _NEAR)
    found = [*same, *elsewhere, *named, *(singles[name] for name in close)]
    return list(dict.fromkeys(found))[:_SHOWN]


def _depth(path: str) -> int:
    return len(path.split())


def suggestions(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    """What is said to a person whose words are more likely a mistyped command than a message;
    nothing if they are a message. `paths`: the commands that there are."""
    if not looks_like_a_command(words, paths):
        return []
    what = " ".join(word for word in words if not word.startswith("-"))
    near = [f"`nanobot {path}`" for path in nearest(words, paths)]
    meant = [f"Did you mean {', '.join(near)}?"] if near else []
    return [*meant, f'To send it to the assistant: nanobot agent -m "{what}"']
