"""Command lines inside the options of programs and inside variables: a pager, an editor, a filter,
a proxy. They are run just like the main command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress

from nanobot.plugins.shell.program_call import ProgramCall
from nanobot.plugins.shell.words import Word
from nanobot.text import pattern

LOADING = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "BASHOPTS", "ZDOTDIR"}
    | {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH"}
    | {"PYTHONSTARTUP", "PYTHONHOME", "PERL5OPT", "PERL5DB", "RUBYOPT", "GCONV_PATH"}
    | {"GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "OPENSSL_CONF", "OPENSSL_MODULES"}
)
"""Variables that make other programs load or run their values."""

_COMMANDS = frozenset(
    {"PAGER", "EDITOR", "VISUAL", "BROWSER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "FCEDIT"}
    | {"GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND"}
    | {"GIT_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "SSH_ASKPASS", "SUDO_ASKPASS"}
    | {"GIT_CONFIG_PARAMETERS", "RSYNC_RSH", "RSYNC_CONNECT_PROG", "CVS_RSH", "TAR_OPTIONS"}
    | {"SYSTEMD_PAGER", "PSQL_PAGER", "MYSQL_PS1", "RUSTC_WRAPPER", "MAKEFLAGS"}
)
_GIT_VALUE = pattern(r"GIT_CONFIG_VALUE_\d+")
_AGENTS = pattern(r"(^|\s)(-javaagent|-agentpath|--require|-r|--import|--loader)\b")
_AGENT_VARIABLES = frozenset(
    {"NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"}
)
_NAME = pattern(r"[A-Za-z_]\w*")
_SETTERS = frozenset({"env", "sudo", "doas", "export", "declare", "typeset", "readonly"})

# Per program, the options whose value is a command line: short, and long.
_OPTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ansible": ("a", ("--args",)),
    "expect": ("c", ()),
    "git": ("", ("--upload-pack", "--receive-pack", "--exec", "--extcmd", "--tree-filter")),
    "hyperfine": ("", ("--prepare", "--setup", "--cleanup", "--conclude")),
    "man": ("PH", ("--pager", "--html")),
    "rsync": ("e", ("--rsh", "--rsync-path")),
    "scp": ("S", ()),
    "sftp": ("S", ()),
    "sort": ("", ("--compress-program",)),
    "start-stop-daemon": ("", ("--exec", "--startas")),
    "tar": ("IF", ("--use-compress-program", "--to-command", "--rsh-command", "--info-script")),
    "tcpdump": ("z", ()),
    "wget": ("", ("--use-askpass",)),
    "zip": ("", ("--unzip-command", "-TT")),
}
_EDITORS = frozenset({"vi", "vim", "view", "nvim", "gvim", "ex", "less", "more"})
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk", "busybox"})
_AWK_RUNS = pattern(r"""(?:system\s*\(\s*|\|&?\s*)"((?:[^"\\]|\\.)+)["]""")
_AWK_READS = pattern(r"""(?<!\\)"((?:[^"\\]|\\.)+)"\s*\|&?\s*getline""")
_MAKE_RUNS = pattern(r"\$[({]shell\s+([^)}]+)[)}]")
_SED_RUNS = pattern(r"(?:^|[;{}\d$/])\s*e\s+(.+)")
_SSH_RUNS = pattern(r"(?i)\s*(?:proxy|local|remote|knownhosts)command\s*[= ]\s*(.+)")
_EDITOR_RUNS = pattern(r"^\+?:?(?:silent\s+)?(?:[%\d,.$]*(?:r|w)?\s*)!(.+)$")
_EDITOR_CALLS = pattern(r"""system(?:list)?\(\s*(["'])(.+?)\1""")
_SHELL_WORD = pattern(r"^\s*(?:shell|!|\\!|\.shell|\.system)\s*(.+)")
_CHECKPOINT = "--checkpoint-action=exec="
_CONFIGURED = pattern(r"(?s)([\w.-]+)=(.*)")
_CONFIG_RUNS = pattern(
    r"(?i)alias\..*|.*(command|pager|editor|helper|askpass|program|driver|hookspath|fsmonitor"
    r"|textconv|external|cmd|clean|smudge|process|browser|proxy)"
)
_PRINTED = {"gdb": ("-ex", "--eval-command", "-iex"), "sqlite3": ("-cmd",), "psql": ("-c",)}


def set_variables(call: ProgramCall) -> Iterator[tuple[str, Word]]:
    """The variables that a call sets for a program, with their values."""
    if call.name not in _SETTERS:
        return
    for word in call.words[1:]:
        name, equals, value = word.text.partition("=")
        if equals and _NAME.fullmatch(name.removesuffix("+")):
            yield name.removesuffix("+"), Word(value, computed=word.computed)
        elif not word.text.startswith("-") and call.name in ("env", "sudo", "doas"):
            return


def loads(name: str, value: Word) -> bool:
    """Whether a variable with that value makes programs load or run it."""
    if name in LOADING:
        return bool(value.text) or value.computed
    if name in _AGENT_VARIABLES:
        return _AGENTS.search(value.text) is not None
    return runs(name) and value.computed and not value.text.strip()


def runs(name: str) -> bool:
    """Whether a variable holds a command line."""
    return name in _COMMANDS or _GIT_VALUE.fullmatch(name) is not None


def matters(name: str) -> bool:
    """Whether the value of a variable matters."""
    return name in LOADING or name in _AGENT_VARIABLES or runs(name)


def lines_within(call: ProgramCall) -> Iterator[str]:
    """The command lines in the options and variables of a call."""
    yield from _of_variables(call)
    yield from _of_options(call)
    if call.name in _EDITORS:
        yield from _of_editor(call)
    elif call.name in _AWKS:
        for word in call.arguments:
            yield from _AWK_RUNS.findall(word)
            yield from _AWK_READS.findall(word)
    elif call.name == "make":
        yield from (line for word in call.arguments for line in _MAKE_RUNS.findall(word))
    elif call.name == "sed":
        yield from (match[1] for word in call.arguments for match in _SED_RUNS.finditer(word))
    elif call.name == "git":
        yield from _of_git(call)


def _of_variables(call: ProgramCall) -> Iterator[str]:
    for name, value in set_variables(call):
        if name == "TAR_OPTIONS":
            yield f"tar {value.text}"
        elif name == "GIT_CONFIG_PARAMETERS":
            yield from map(_configured, _split(value.text))
        elif runs(name) or name in ("PROMPT_COMMAND", "PS4"):
            yield value.text.lstrip("!|")


def _of_options(call: ProgramCall) -> Iterator[str]:
    short, long = _OPTIONS.get(call.name, ("", ()))
    words = call.arguments
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        key, equals, value = word.partition("=")
        if key in long:
            yield value if equals else following
        elif short and re.fullmatch(rf"-[a-zA-Z]*[{short}].*", word) and word[:2] != "--":
            attached = re.split(f"[{short}]", word, maxsplit=1)[1]
            yield attached or following
        if call.name in ("ssh", "scp", "sftp", "rsync") and word.startswith("-o"):
            matches = map(_SSH_RUNS.match, (word[2:], following))
            yield from (match[1] for match in matches if match)
        if word.startswith(_CHECKPOINT):
            yield word.removeprefix(_CHECKPOINT)
        elif word == "--checkpoint-action" and following.startswith("exec="):
            yield following.removeprefix("exec=")
        if key in _PRINTED.get(call.name, ()):
            yield from (match[1] for match in [_SHELL_WORD.match(value or following)] if match)
        if call.name == "env" and (key == "--split-string" or word.startswith("-S")):
            yield value if equals and key == "--split-string" else word[2:] or following


def _of_editor(call: ProgramCall) -> Iterator[str]:
    before = ""
    for word in call.arguments:
        attached = word[2:] if word.startswith(("-c", "+!")) else ""
        texts = [word] if before in ("-c", "--cmd", "-S") or word.startswith("+") else []
        for text in [*texts, *filter(None, [attached])]:
            if match := _EDITOR_RUNS.match(text):
                yield match[1]
            yield from (match[2] for match in _EDITOR_CALLS.finditer(text))
        before = word


def _of_git(call: ProgramCall) -> Iterator[str]:
    """The commands that `-c`, `config` and `bisect run` make git run."""
    words = call.arguments
    for at, word in enumerate(words):
        if word == "-c" and at + 1 < len(words):
            yield _configured(words[at + 1])
        elif word.startswith("ext::"):
            yield word.removeprefix("ext::").replace("% ", "\\ ")  # its way of quoting a space
    for name, skipped in (("bisect", "run"), ("submodule", "foreach"), ("rebase", "--exec")):
        if name in words and skipped in words:
            yield " ".join(words[words.index(skipped) + 1 :])
    if "config" in words:
        given = [word for word in words[words.index("config") + 1 :] if not word.startswith("-")]
        given = given[1:] if given[:1] == ["set"] else given
        if len(given) > 1:
            yield _configured(f"{given[0]}={given[1]}")


def _configured(text: str) -> str:
    """The command line in a git setting; "" if there is none."""
    match = _CONFIGURED.fullmatch(text)
    if match is None or not _CONFIG_RUNS.fullmatch(match[1]):
        return ""
    if match[1].lower().startswith("alias.") and not match[2].startswith("!"):
        return f"git {match[2]}"
    return match[2].lstrip("!")


def _split(text: str) -> list[str]:
    with suppress(ValueError):
        return shlex.split(text)
    return []
