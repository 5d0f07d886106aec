"""The programs that a program runs in turn: those in its arguments, and texts that it interprets as
commands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase

from nanobot.plugins.shell.hidden_programs import lines_within
from nanobot.plugins.shell.program_call import ProgramCall
from nanobot.plugins.shell.words import Word, formatted, unescaped
from nanobot.text import pattern

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish"})
INTERPRETERS = SHELLS | {"python", "perl", "ruby", "node", "php", "lua", "osascript", "pwsh"}
WRAPPERS = frozenset(
    {"at", "batch", "builtin", "busybox", "chroot", "chrt", "command", "coproc", "doas", "env"}
    | {"exec", "flock", "ionice", "ltrace", "nice", "nohup", "parallel", "runuser", "script"}
    | {"setsid", "ssh", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "time"}
    | {"timeout", "unshare", "watch", "xargs", "capsh", "chpst", "chronic", "dbus-run-session"}
    | {"eatmydata", "entr", "fakeroot", "firejail", "gdb", "hyperfine", "ld.so", "machinectl"}
    | {"nsenter", "numactl", "pkexec", "prlimit", "proot", "proxychains", "rlwrap", "screen"}
    | {"setarch", "setpriv", "sshpass", "start-stop-daemon", "tmux", "torsocks", "unbuffer"}
    | {"valgrind", "xvfb-run"}
)
"""Programs that run the program named in their arguments."""

_TAKE_A_LINE = frozenset({"entr", "eval", "hyperfine", "parallel", "ssh", "su", "tmux", "watch"})
_PATTERN = pattern(r"[*?]|\[.+\]")
_KNOWN = (
    INTERPRETERS
    | frozenset({"chmod", "chown", "crontab", "dd", "eval", "find", "kill", "mkfs", "mv", "nc"})
    | frozenset({"reboot", "rm", "rsync", "shred", "shutdown", "srm", "sudo", "tee", "xargs"})
)
"""Programs to consider when a pattern (`/b?n/r?`) may match them."""
TERMINALS = frozenset({"tmux"})
"""Programs that type their arguments into a terminal."""
_SCHEDULED = frozenset({"at", "batch"})
_LOADER = pattern(r"ld-linux[\w.-]*\.so\.\d+|ld-musl[\w.-]*\.so\.\d+|ld\.so")
_EXECUTE = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "--exec"})
_MOST_EXECUTED = 2
_VERSION = pattern(r"[\d.]+$")
_SYSTEM = pattern(
    r"(?:system|popen|exec[lv]?p?e?|run|call|Popen|check_output|spawn(?:Sync)?|execSync|qx)"
    r"""\s*\(?\s*\[?\s*(["'])(.+?)\1"""
)
_REMOVED = pattern(
    r"""(?:rmtree|rm_rf|rm_r|removeSync|rmSync|rmdirSync|remove_tree|remove_dir_all)\s*\(?\s*"""
    r"""(?:(["'])(.+?)\1|[^)\n]{0,40}?(?:expanduser\(\s*["'](~[^"']*)|(?:Path\.home|homedir"""
    r"""|Dir\.home)))"""
)
_OPENED = pattern(
    r"""(?:open|openSync|writeFileSync|writeFile|File\.write|Path)\s*\(?\s*(["'])(.+?)\1\s*"""
    r"""(?:,\s*["'][wax+]|\)\.write_|,)"""
)


def interpreter(call: ProgramCall) -> str:
    """The name of an interpreter without its version; "" if the program is not one."""
    for name in (call.name, _VERSION.sub("", call.name)):
        if name in INTERPRETERS:
            return name
    return ""


def inner_words(call: ProgramCall) -> Iterator[tuple[Word, ...]]:
    """The command line of each program that the call starts from its arguments."""
    if call.name in WRAPPERS or _LOADER.fullmatch(call.name):
        given = _given_by_xargs(call) if call.name == "xargs" else ()
        for at, word in enumerate(call.words[1:], 1):
            if word.computed or not word.text.startswith("-"):
                inner = (*call.words[at:], *given)
                if ProgramCall(inner).name != call.name:
                    yield inner
    if call.name in ("find", "fd"):
        yield from _executed_by_find(call)


def matched_words(call: ProgramCall) -> Iterator[tuple[Word, ...]]:
    """The command line of each known program that the shell may find for a pattern in the command
    position.
    """
    if len(call.words) > 1 and _PATTERN.search(call.name):
        for name in sorted(_KNOWN):
            if fnmatchcase(name, call.name):
                yield (Word(name), *call.words[1:])


def inner_lines(call: ProgramCall) -> Iterator[str]:
    """The texts that the call interprets as shell lines."""
    if call.name in _TAKE_A_LINE:
        words = [word.text for word in call.words[1:] if word.text or not word.computed]
        yield " ".join(words)
        yield from (word for word in words if " " in word)
    yield from filter(None, lines_within(call))
    if call.name in _SCHEDULED:
        yield from filter(None, (call.input, *map(printed, call.fed)))
    if call.name in ("source", "."):
        yield from filter(None, (call.input, *map(printed, call.fed)))
    if call.name == "trap":
        yield from call.operands[:1]
    if call.name == "alias":
        yield from (word.partition("=")[2] for word in call.operands)
    if call.name in SHELLS:
        yield from _of_shell(call)
    elif interpreter(call):
        yield from _of_interpreter(call)


def printed(call: ProgramCall) -> str:
    """The output of echo and similar programs, as far as the line itself contains it."""
    match call.name:
        case "cat":
            return call.input
        case "printf":
            return formatted([word for word in call.arguments if word != "--"])
        case "echo":
            text = " ".join(word for word in call.arguments if not re.fullmatch("-[neE]+", word))
            return unescaped(text) if any("e" in word for word in call.arguments[:1]) else text
        case _:
            return ""


def _of_shell(call: ProgramCall) -> Iterator[str]:
    """The line that a shell runs: from -c, or from its input."""
    words = call.words[1:]
    for at, word in enumerate(words):
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word.text) and at + 1 < len(words):
            yield words[at + 1].text
            return
    yield from filter(None, (call.input, *map(printed, call.fed)))


def _of_interpreter(call: ProgramCall) -> Iterator[str]:
    """Operations that a script in another language passes to a shell, deletes or writes, if they
    are plain to see.
    """
    programs = [
        call.arguments[at + 1]
        for at, word in enumerate(call.arguments[:-1])
        if re.fullmatch(r"-[a-zA-Z]*[cer]|--eval", word)
    ]
    if not programs and not [word for word in call.operands if word != "-"]:
        programs = [*filter(None, (call.input, *map(printed, call.fed)))]
    for program in programs:
        yield from (match[2] for match in _SYSTEM.finditer(program))
        for match in _REMOVED.finditer(program):
            yield f"rm -rf {match[2] or match[3] or '~'}"
        yield from (f": > {shlex.quote(match[2])}" for match in _OPENED.finditer(program))


def _given_by_xargs(call: ProgramCall) -> tuple[Word, ...]:
    """The words that xargs adds: the text printed to it, otherwise a computed word. The results of
    find are under the folder it searches.
    """
    words: list[Word] = []
    for source in call.fed:
        if source.name in ("find", "fd"):
            roots = [word for word in source.operands[:1] if word] or ["."]
            words += [Word(root if root == "/" else f"{root.rstrip('/')}/*") for root in roots]
        elif text := printed(source):
            words += [Word(word) for word in text.split()]
        else:
            words.append(Word("", computed=True))
    if {"-a", "--arg-file"}.intersection(call.arguments):
        words.append(Word("", computed=True))
    return tuple(words)


def _executed_by_find(call: ProgramCall) -> Iterator[tuple[Word, ...]]:
    executed = [at for at, word in enumerate(call.words) if word.text in _EXECUTE]
    for at in executed[:_MOST_EXECUTED]:
        places = [word for word in call.arguments[: at - 1] if not word.startswith("-")][:1]
        yield tuple(
            Word(places[0]) if inner.text == "{}" and places else inner
            for inner in call.words[at + 1 :]
            if inner.text not in (";", "+")
        )
