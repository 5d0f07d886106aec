"""Text into values: parses the file, follows references to secrets, gives text the type of its key.

Errors are sentences that name the place, the value, the allowed values and the remedy. They show no
secret.
"""

from __future__ import annotations

import json
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import unquote

import msgspec

from nanobot.errors import ConfigError, UnsetReference
from nanobot.text import pattern

MOST_PARTS = 16
"""Of a dotted key: no key of ours has half as many."""
_TELLTALE = "token|key|password|passwd|secret|credentials?"
_SECRET_NAME = pattern(rf"({_TELLTALE})$", re.IGNORECASE)
_SECRET_LINE = pattern(rf"((?:{_TELLTALE})[\"']?\s*(?:[=:]|\s)\s*)\S.*", re.IGNORECASE)
_LONG_WORD = pattern(r"(?=\S*\d)[\w+/=:.-]{20,}")
_URL_PASSWORD = pattern(r"(://[^/@\s:]*):[^/@\s]*@")
_URL_VALUE = pattern(r"(?<=[?&#;])([^=&#;\s]+)=[^&#;\s]*")
# A part of a path or of an argument that nobody made up: a run of letters with digits among them.
KEY_LIKE = pattern(
    r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
_CORRECT = "Correct this line; text belongs in double quotes."
_TWICE = ("Cannot overwrite a value", "twice")
_PLACE_IN_TOML = pattern(r"\s*\((?:at line (\d+), column (\d+)|at end of document)\)")
_VARIABLE = pattern(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


class EnvironmentText(msgspec.Struct, frozen=True):
    """A value from the environment: text that takes the type of its key."""

    text: str
    variable: str


def home_of(environ: Mapping[str, str]) -> Path:
    """The home: what NANOBOT_HOME names, else `~/.nanobot`. Raises ConfigError."""
    try:
        return Path(environ.get("NANOBOT_HOME") or "~/.nanobot").expanduser().absolute()
    except RuntimeError as error:
        raise ConfigError(f"NANOBOT_HOME: {error}. Set it to the path of a folder.") from None


def variable_of(key: str) -> str:
    """The variable of the environment that sets a key."""
    return "NANOBOT_" + key.upper().replace(".", "__").replace("-", "_")


def is_secret(key: str) -> bool:
    """Whether a value of this key (dotted or not) must not be shown."""
    return _SECRET_NAME.search(key) is not None


def masked(key: str, value: Any) -> Any:
    """`value` as it may be shown: secrets as ***, and so what may be one within URLs."""
    if not isinstance(value, str) or not value:
        return value
    if is_secret(key):
        return "***"
    return masked_url(value) if "://" in value else value


def masked_url(url: str) -> str:
    """A URL without its password, the values of its query, and whatever in it looks like a key."""
    shown = _URL_VALUE.sub(r"\1=***", _URL_PASSWORD.sub(r"\1:***@", url))
    scheme, mark, rest = shown.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host}{slash}{KEY_LIKE.sub('***', path)}"


def secrets_in_url(url: str) -> set[str]:
    """Passwords and keys in a URL, both encoded and decoded."""
    _, separator, rest = url.partition("://")
    if not separator:
        return set()
    host, _, path = rest.partition("/")
    userinfo, at, _ = host.rpartition("@")
    secrets = {userinfo.partition(":")[2]} if at else set()
    for pair in re.split(r"[?&#;]", rest)[1:]:
        name, _, value = pair.partition("=")
        secrets |= {value} if is_secret(name) else set()
    secrets |= {match[0] for match in KEY_LIKE.finditer(path)}
    return {form for secret in secrets if secret for form in (secret, unquote(secret))}


def masked_arguments(arguments: Iterable[str]) -> list[str]:
    """The arguments of a program without what may be a secret: the value of an option (or of a
    NAME=VALUE) that is called so, and whatever looks like a key."""
    shown = []
    for argument, secret in judged_arguments(arguments):
        if secret is not None:
            shown.append(f"{argument.removesuffix(secret)}***")
        else:
            is_url = "://" in argument
            shown.append(masked_url(argument) if is_url else KEY_LIKE.sub("***", argument))
    return shown


def judged_arguments(arguments: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Each argument of a program with its end that is a secret by the name before it, or None."""
    is_value = False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        option = argument.startswith("-")
        if is_value and not option:
            yield argument, argument
        else:
            yield argument, value if equals and is_secret(name) else None
        is_value = option and not equals and is_secret(name)


def parse(file: Path) -> dict[str, Any]:
    """The tree of a TOML file, empty if there is no file. Raises ConfigError."""
    return parse_bytes(file, content_of(file))


def parse_bytes(file: Path, raw: bytes) -> dict[str, Any]:
    """The tree in the bytes of a TOML file. Raises ConfigError."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{file}, line {line}: a byte that is not UTF-8. Save the file as UTF-8."
        ) from None
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{file}: nested too deeply. Write tables as [a.b].") from None
    except ValueError as error:
        # `from None`: the original error may hold the whole document.
        raise ConfigError(_toml_error(file, text, str(error))) from None
    level: list[Any] = [tree]
    for _ in range(MOST_PARTS):
        level = [item for node in level for item in _below(node)]
        if not level:
            return tree
    raise ConfigError(f"{file}: a key has more than {MOST_PARTS} parts. Write it shorter.")


def _below(node: Any) -> list[Any]:
    items = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [item for item in items if isinstance(item, dict | list)]


def parts_of(key: str) -> list[str]:
    """The parts of a dotted key. Raises ConfigError for more than any key has."""
    parts = key.split(".")
    if len(parts) > MOST_PARTS:
        raise ConfigError(f"a key has at most {MOST_PARTS} parts, not {len(parts)}.")
    return parts


def content_of(file: Path) -> bytes:
    """The bytes of a configuration; none if there is no file. Raises ConfigError."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise ConfigError(
                f"{file}: not a regular file. Move it away; a text file belongs here."
            )
        return file.read_bytes()
    except FileNotFoundError:
        if file.is_symlink():
            raise ConfigError(f"{file}: a link to a file that is not there. Mend it.") from None
        return b""
    except NotADirectoryError:
        raise ConfigError(
            f"{file.parent}: not a folder. Set NANOBOT_HOME to the path of a folder."
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot be read ({error.strerror}). Mend its permissions (and its folder's)."
        ) from None


def _toml_error(file: Path, text: str, message: str) -> str:
    lines = text.replace("\r\n", "\n").split("\n")
    place = _PLACE_IN_TOML.search(message)
    reason = _PLACE_IN_TOML.sub("", message)
    line = int(place[1]) if place and place[1] else len(lines)
    column = int(place[2]) if place and place[2] else len(lines[-1]) + 1
    shown = _shown_line(lines[line - 1]) if line <= len(lines) else ""
    twice = any(words in reason for words in _TWICE)
    remedy = "It is there twice: keep one of them." if twice else _CORRECT
    return (
        f"{file}, line {line}, column {column}: not valid TOML: {_shown_line(reason)}.\n"
        f"    {shown}\n{remedy}"
    )


def _shown_line(line: str) -> str:
    printable = "".join(c if c.isprintable() else "?" for c in line.expandtabs(2))
    safe = _LONG_WORD.sub("***", _SECRET_LINE.sub(r"\1***", printable))
    return safe if len(safe) <= 120 else safe[:120] + "..."


def follow(text: str, key: str, home: Path, environ: Mapping[str, str]) -> str:
    """The value of "${NAME}" or "file:PATH" (relative to `home`); other text is unchanged."""
    match = _VARIABLE.fullmatch(text)
    if match:
        value = environ.get(match[1], "")
        if not value:
            raise UnsetReference(
                f"{key} refers to the environment variable {match[1]}, which is not set. "
                'Set it, or refer to a file with "file:PATH".'
            )
        return value
    if text.startswith("file:"):
        return _secret_file(text.removeprefix("file:"), key, home)
    return text


def _secret_file(name: str, key: str, home: Path) -> str:
    trouble = "is empty"
    try:
        text = (home / Path(name).expanduser()).read_text("utf-8").strip()
    except UnicodeDecodeError:
        trouble, text = "is not UTF-8 text", ""
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        trouble, text = f"cannot be read ({reason})", ""
    if not text:
        raise UnsetReference(
            f"{key} refers to the file {shown('', name)} (from {home}), which {trouble}. "
            'Put the value into that file, or refer to a variable with "${NAME}".'
        )
    return text


def from_text(hint: Any, text: str) -> Any:
    """Text of the environment as the type `hint` wants it; unchanged if it cannot be that."""
    base = base_of(hint)
    try:
        if base is bool:
            word = text.strip().lower()
            return True if word in _TRUE else False if word in _FALSE else text
        if base in {int, float}:
            return base(text)
        if get_origin(base) is tuple:
            if text.lstrip().startswith("["):
                return json.loads(text)
            return [item.strip() for item in text.split(",") if item.strip()]
    except (ValueError, RecursionError):
        pass
    return text


def allowed(hint: Any) -> str:
    """What a type admits, for people."""
    base = base_of(hint)
    if get_origin(base) is Literal:
        return "one of " + ", ".join(f'"{choice}"' for choice in get_args(base))
    if get_origin(base) is tuple:
        each = base_of(get_args(base)[0])
        if get_origin(each) is Literal:
            return "a list of " + ", ".join(f'"{choice}"' for choice in get_args(each))
        return 'a list of texts, like ["one", "two"]'
    if get_origin(base) is Mapping:
        return "a table of texts"
    if base in {int, float}:
        return ("a whole number" if base is int else "a number") + _range(hint)
    return "true or false" if base is bool else "text in double quotes"


def base_of(hint: Any) -> Any:
    """A type without metadata and without None."""
    if hasattr(hint, "__metadata__"):
        return base_of(hint.__origin__)
    if get_origin(hint) in (UnionType, Union):
        return base_of(next(member for member in get_args(hint) if member is not NoneType))
    return hint


def metas_of(hint: Any) -> Iterator[msgspec.Meta]:
    """The metadata of a type, outermost first."""
    yield from (
        meta for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, msgspec.Meta)
    )
    if hasattr(hint, "__metadata__"):
        yield from metas_of(hint.__origin__)
    elif get_origin(hint) in (UnionType, Union):
        yield from metas_of(next(member for member in get_args(hint) if member is not NoneType))


def marked(hint: Any, mark: str) -> bool:
    """Whether `about` puts that mark on a key of this type."""
    return any((meta.extra_json_schema or {}).get(mark) is True for meta in metas_of(hint))


def _range(hint: Any) -> str:
    for bounds in metas_of(hint):
        if bounds.gt is not None or bounds.ge is not None:
            low = f" above {bounds.gt}" if bounds.gt is not None else f" from {bounds.ge}"
            return low if bounds.le is None else f"{low} up to {bounds.le}"
    return ""


def _without_keys(text: str) -> str:
    """The text without anything that looks like a key."""
    is_place = "://" in text or text.startswith(("/", "~", "."))
    return KEY_LIKE.sub("***", text if is_place else _LONG_WORD.sub("***", text))


def shown(key: str, value: Any) -> str:
    """A value for an error message: shortened, and without secrets."""
    if isinstance(value, dict):
        return "a table"
    if is_secret(key):
        return "a text" if isinstance(value, str) else f"of type {type(value).__name__}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        value = json.dumps(_without_keys(masked(key, value)), ensure_ascii=False)
    elif isinstance(value, list | tuple):
        words = all(isinstance(item, str) for item in value)
        some = masked_arguments(value) if words else value  # of a program, perhaps
        value = "a list: " + ", ".join(shown(key, item) for item in some[:3])
    try:
        text = str(value)
    except ValueError:  # an int of more digits than Python prints
        return "a huge number"
    return text if len(text) <= 60 else text[:60] + "..."


def quoted(key: str) -> str:
    """A key for a sentence: unchanged, or quoted if it has unusual characters; never long."""
    text = key if all(c.isprintable() and c != " " for c in key) and key else repr(key)
    return text if len(text) <= 80 else text[:80] + "..."


def ids(value: Any) -> Any:
    """Platforms' ids are often numbers, and a person may write them so; addresses of e-mail have
    capitals or not."""
    return [_id(item) for item in value] if isinstance(value, list) else value


def _id(item: Any) -> Any:
    if isinstance(item, int) and not isinstance(item, bool):
        return str(item)
    is_address = isinstance(item, str) and re.fullmatch(r"[^@\s]+@[^@\s]+", item)
    return item.lower() if is_address else item


def spelled(table: dict[str, Any], part: str) -> str:
    """The file's own spelling of a name that a variable gives in capitals with _ for -."""
    for key in table:
        if key.lower().replace("-", "_") == part:
            return key
    return part
