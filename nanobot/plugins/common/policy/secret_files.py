"""Recognizes files of secrets by their names, and secrets by their form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nanobot.config.values import is_secret
from nanobot.labels import is_marked_secret
from nanobot.text import pattern

_FILE = pattern(
    r"""
    (?:^|/)(?:
      \.env(?:\.(?!example$|sample$|template$|dist$)[\w-]+)*   # .env, .env.local
    | [\w.-]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|keyring|ppk|asc\.key)
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?
    | \.(?:netrc|npmrc|pypirc|pgpass|my\.cnf|htpasswd|git-credentials|vault_pass|boto|s3cfg)
    | \.[\w-]+/credentials
    | service[-_]account[\w-]*\.json
    | (?:client[-_]|application_default_|api[-_]?)?
      (?:credentials?|secrets?|tokens?|keys?|passwords?)\.(?:json|ya?ml|toml|ini|env|txt|conf|csv)
    | kubeconfig
    | \.(?:gnupg|password-store|secrets)/.+
    | \.ssh/(?!known_hosts|config$|authorized_keys|.*\.pub$).+
    | \.docker/config\.json
    | \.kube/config
    )$
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Each begins with a character or a set of some: a search tries the rest only there. These look at
# whole results, and at every character a \b first would take fifteen times as long.
_KEY_BLOCK = pattern(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")
_FORMS = pattern(
    r"""
    [Aegprsx\d](?<=\b\w)(?:
      k(?<=[srp]k)[-_](?:live[-_]|test[-_]|ant-|proj-|or-v1-)?[A-Za-z0-9_-]{20,}
    | h(?<=gh)[pousr]_[A-Za-z0-9]{30,}
    | i(?<=gi)thub_pat_[A-Za-z0-9_]{30,}
    | l(?<=gl)pat-[A-Za-z0-9_-]{18,}
    | o(?<=xo)x[abeoprs]-[A-Za-z0-9-]{10,}
    | a(?<=xa)pp-\d-[A-Za-z0-9-]{10,}
    | [KS](?<=A[KS])IA[A-Z0-9]{16}\b
    | I(?<=AI)za[A-Za-z0-9_-]{35}
    | \d(?<=\d\d)\d{6,8}:[A-Za-z0-9_-]{35}\b                   # of a Telegram bot
    | y(?<=ey)J[A-Za-z0-9_-]{10,400}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10}
    )
    """,
    re.VERBOSE,
)
# NAME=value in a line, and "name": "value", with values of at least 8 characters without spaces.
_ASSIGNED = pattern(
    r"""\n(?:[\w./-]{1,200}:\d{1,9}:)?[ \t]{0,40}(?:export[ ])?"""  # perhaps in a file's line
    r"""([A-Z][A-Z0-9_]{2,60})=["']?[^\s"'$]{8,}"""
)
_FIELD = pattern(r'''"([\w.-]{3,60})"\s*:\s*"[^\s"$]{8,}"''')
_TOKEN = pattern(r"[^\s'\"`;&|<>(){}$=,@]+")
_MOST_CHARS, _LONGEST_PATH = 200_000, 1_000
_COMMANDS = ("command", "text")
"""Arguments in which a file may be named among other words."""


def holds_secrets(path: str) -> bool:
    """Whether a file is one of secrets, by its name: `.env`, keys, keyrings, credentials."""
    return _FILE.search(path.strip().rstrip("/")[-_LONGEST_PATH:]) is not None


def secret_file_in(arguments: Any) -> str:
    """The first file of secrets that the arguments of a call name; "" if there is none. A command
    names it by a word, an argument for paths and files as a whole."""
    for name, text in _texts("", arguments):
        if name in _COMMANDS:
            words = _TOKEN.findall(text[:_MOST_CHARS])
        else:
            words = [text] if "path" in name or "file" in name else []
        for word in words:
            if holds_secrets(word) and "\n" not in word.strip():
                return str(word.strip())
    return ""


def shows_secrets(text: str) -> bool:
    """Whether a text contains a secret by its form, or was marked with #secret."""
    text = text[:_MOST_CHARS]
    if is_marked_secret(text) or _KEY_BLOCK.search(text) or _FORMS.search(text):
        return True
    return any(map(is_secret, [*_ASSIGNED.findall("\n" + text), *_FIELD.findall(text)]))


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(str(key), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(name, inner)
