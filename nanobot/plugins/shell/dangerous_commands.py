"""Dangerous commands, and what they would do, described for a person.

Commands are judged in parsed form (`commandline`), so that quoting, variables, wrappers and inner
shells hide nothing that the line itself contains. This is a second line of defense behind the
sandbox, against honest mistakes and injected commands: a determined attacker can always write a
program that it does not recognize.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

import msgspec

from nanobot.plugins.shell.commandline import CommandLine, parse
from nanobot.plugins.shell.downloads import DOWNLOADERS, feeding, run_downloads
from nanobot.plugins.shell.hidden_programs import loads, set_variables
from nanobot.plugins.shell.inner_calls import SHELLS, interpreter
from nanobot.plugins.shell.program_call import ProgramCall
from nanobot.plugins.shell.words import Word
from nanobot.text import Sentence, quoted


class CommandRisk(msgspec.Struct, frozen=True):
    """One danger of a command line. `kind` is one of KINDS."""

    kind: str
    why: Sentence


KINDS = (
    "bomb",
    "delete",
    "disk",
    "download",
    "hidden",
    "irreversible",
    "permissions",
    "power",
    "privileged",
    "reverse",
    "system",
    "unclear",
)

_ALL = frozenset({"/", "~", "/*", "~/*", "..", "../*", "../..", ".", "*", "./*", ".*"})
_HERE = frozenset({".", "*", "./*"})
_SYSTEM = frozenset(
    {"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root"}
    | {"/sbin", "/srv", "/sys", "/usr", "/var"}
)
_DEVICE = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|loop|md|dm-|mapper/|disk/|mem|kmem|port|sg)")
_DECODERS = frozenset({"base64", "base32", "xxd", "uudecode", "openssl", "gpg", "rev", "tr"})
_FORMATTERS = frozenset(
    {"badblocks", "blkdiscard", "cfdisk", "cryptsetup", "fdisk", "gdisk", "hdparm", "lvremove"}
    | {"mdadm", "mke2fs", "mkdosfs", "mkexfatfs", "mkntfs", "mkreiserfs", "mkudffs", "newfs"}
    | {"mkswap", "parted", "pvremove", "sfdisk", "sgdisk", "vgremove", "wipefs"}
)
_POWER = frozenset({"shutdown", "reboot", "halt", "poweroff", "telinit", "kexec"})
_SYSTEMD = frozenset({"poweroff", "reboot", "halt", "kexec", "emergency", "rescue", "suspend"})
_KERNEL = frozenset({"insmod", "rmmod", "modprobe", "sysctl", "setenforce", "pivot_root", "mount"})
_ACCOUNTS = frozenset(
    {"adduser", "chpasswd", "chsh", "deluser", "groupadd", "passwd", "useradd", "userdel"}
    | {"usermod", "visudo"}
)
_GIT_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})
_GIT_FORCE = frozenset({"--force", "--force-with-lease", "--mirror", "--delete", "--prune"})
_FOR_GOOD: Mapping[str, frozenset[tuple[str, ...]]] = {
    "gh": frozenset({("repo", "delete"), ("release", "delete"), ("secret", "delete")}),
    "npm": frozenset({("unpublish",)}),
    "terraform": frozenset({("destroy",)}),
    "kubectl": frozenset({("delete",), ("drain",)}),
}
_TAKES_LINE = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_WRITERS = frozenset({"tee", "cp", "mv", "install", "ln", "dd", "truncate", "shred", "sed"})


def command_risks(command: str) -> tuple[CommandRisk, ...]:
    """The dangers of a command line, without duplicates; empty if none is known.

    A line that is not valid shell is `unclear`: its effect is unknown.
    """
    line = parse(command)
    return tuple(dict.fromkeys(_risks(line)))


def _risks(line: CommandLine) -> Iterator[CommandRisk]:
    for why in line.bombs:
        yield CommandRisk("bomb", why)
    for call in line.calls:
        for judge in _JUDGES:
            yield from judge(call)
    for path, source in run_downloads(line.calls):
        yield CommandRisk("download", f"it runs {path}, which {source} downloads, unread")
    if line.unclear:
        yield CommandRisk("unclear", "it is not valid shell, or nested too deeply to be understood")


def _place(word: str) -> str:
    """A path normalized without reading the file system: dots resolved, no trailing slash."""
    if not word or word in _ALL:
        return word
    return posixpath.normpath(word) if word.startswith(("/", "~")) else word.rstrip("/") or word


def _broad(word: str) -> bool:
    """Whether a path means everything, a whole home, or a system folder."""
    place = _place(word).replace("//", "/")
    stem = place.removesuffix("/*").removesuffix("/.*") or "/"
    if place in _ALL or stem in _SYSTEM or stem in _ALL or place.startswith("~root"):
        return True
    return any(sign in stem for sign in "*?[") and any(fnmatchcase(name, stem) for name in _SYSTEM)


def _of_system(word: str) -> bool:
    """Whether a path is in a system folder."""
    place = _place(word)
    return any(
        place == root or place.startswith(f"{root}/")
        for root in ("/etc", "/usr", "/bin", "/sbin", "/lib", "/boot", "/sys", "/proc/sys")
    )


def _has(call: ProgramCall, short: str, *long: str) -> bool:
    """Whether an option is given, alone, in a cluster (`-rf`), or by its long name."""
    for word in call.arguments:
        if word.startswith("--"):
            if word.split("=")[0] in long:
                return True
        elif short and word.startswith("-") and short in word:
            return True
    return False


def _deletes(call: ProgramCall) -> Iterator[CommandRisk]:
    deep = call.name == "srm" or any(_has(call, letter, "--recursive") for letter in "rR")
    if call.name in ("rm", "srm") and deep:
        for word in filter(_broad, list(call.operands)):
            yield CommandRisk("delete", f"it deletes {word} and all below it")
        if any(word.computed for word in call.words[1:]):
            yield CommandRisk("delete", "it deletes a folder whose name only running tells")
    if call.name == "crontab" and _has(call, "r"):
        yield CommandRisk("delete", "it removes every cron job")


def _empties(call: ProgramCall) -> Iterator[CommandRisk]:
    operands = list(call.operands)
    if call.name == "find" and {"-delete", "rm"}.intersection(call.arguments):
        targets, does = operands[:1], "deletes the files that it finds below"
    elif call.name == "mv":
        targets, does = operands[:-1], "moves"
    elif call.name == "rsync" and _has(call, "", "--delete"):
        targets, does = operands, "empties"
    else:
        return
    for word in targets:
        if _broad(word) and word not in _HERE:
            yield CommandRisk("delete", f"it {does} {word}")


def _writes_disks(call: ProgramCall) -> Iterator[CommandRisk]:
    formats = call.name.split(".")[0] == "mkfs" or (
        call.name in _FORMATTERS and list(call.operands)
    )
    if formats:
        yield CommandRisk("disk", f"{call.name} changes disks")
    targets = [*(word.text for word in call.writes), *_written_by_find(call)]
    if call.name == "dd":
        targets += [word[3:] for word in call.arguments if word.startswith("of=")]
    elif call.name in _WRITERS:
        targets += list(call.operands)
    for target in filter(_DEVICE.match, targets):
        yield CommandRisk("disk", f"it writes onto {target}")


def _written_by_find(call: ProgramCall) -> list[str]:
    words = call.arguments if call.name == "find" else ()
    return [words[at + 1] for at, word in enumerate(words[:-1]) if word in _FIND_WRITES]


def _runs_downloads(call: ProgramCall) -> Iterator[CommandRisk]:
    if not interpreter(call) and call.name not in ("eval", "source", "."):
        return
    for fed in feeding(call):
        if fed.name in DOWNLOADERS:
            yield CommandRisk("download", f"it runs what {fed.name} downloads, unread")
        if fed.name in _DECODERS and _decodes(fed):
            yield CommandRisk("hidden", f"it runs what {fed.name} decodes, unread")


def _decodes(call: ProgramCall) -> bool:
    return call.name in ("rev", "tr", "uudecode") or any(
        _has(call, short, long)
        for short, long in (("d", "--decode"), ("D", "--decrypt"), ("r", "--revert"))
    )


def _changes_permissions(call: ProgramCall) -> Iterator[CommandRisk]:
    if call.name in ("chmod", "chown", "chgrp", "setfacl") and _has(call, "R", "--recursive"):
        for word in list(call.operands)[1:]:
            if _broad(word) and word not in _HERE:
                yield CommandRisk("permissions", f"it changes who may do what in all of {word}")
    if call.name == "chmod" and any(
        re.fullmatch(r"[ugoa]*\+[rwx]*s|[2-7][0-7]{3}", word) for word in list(call.operands)[:1]
    ):
        yield CommandRisk("permissions", "it lets a program run with another user's rights")


def _cuts_power(call: ProgramCall) -> Iterator[CommandRisk]:
    if call.name in _POWER or (call.name == "init" and set(call.arguments) & {"0", "6"}):
        yield CommandRisk("power", f"{call.name} stops the machine")
    if call.name == "systemctl" and set(call.arguments) & _SYSTEMD:
        yield CommandRisk("power", "it stops the machine")
    if call.name in ("kill", "pkill", "killall", "killall5") and (
        call.name == "killall5" or call.arguments[-1:] in (("-1",), ("1",))
    ):
        yield CommandRisk("power", "it kills every process it can")


def _changes_system(call: ProgramCall) -> Iterator[CommandRisk]:
    if call.name in _KERNEL and (call.name != "mount" or list(call.operands)):
        yield CommandRisk("system", f"{call.name} changes the running system")
    if call.name in _ACCOUNTS:
        yield CommandRisk("system", f"{call.name} changes who may log in")
    if call.name in ("iptables", "nft", "ufw") and (
        set(call.arguments) & {"-F", "--flush", "flush", "disable", "reset"}
    ):
        yield CommandRisk("system", "it opens the firewall")
    targets = [*(word.text for word in call.writes), *_written_by_find(call)]
    if call.name == "tee":
        targets += list(call.operands)
    elif call.name in ("cp", "mv", "install", "ln", "truncate") or (
        call.name == "sed" and _has(call, "i", "--in-place")
    ):
        targets += list(call.operands)[-1:]
    for target in filter(_of_system, targets):
        yield CommandRisk("system", f"it writes to {target}")


def _reaches_out(call: ProgramCall) -> Iterator[CommandRisk]:
    net = re.compile(r"/dev/(tcp|udp)/")
    if any(net.match(word.text) for word in call.writes):
        yield CommandRisk("reverse", "it connects a shell to another machine")
    if call.name in ("nc", "ncat", "netcat", "socat"):
        words = " ".join(call.arguments)
        if _has(call, "e", "--exec", "--sh-exec") or "exec:" in words.lower():
            yield CommandRisk("reverse", "it hands a shell to another machine")
        elif any(interpreter(fed) for fed in feeding(call)):
            yield CommandRisk("reverse", "it connects a shell to another machine")


def _takes_privileges(call: ProgramCall) -> Iterator[CommandRisk]:
    if call.name in ("docker", "podman", "nerdctl"):
        words = " ".join(call.arguments)
        if "--privileged" in words or re.search(r"(-v|--volume[ =])\s?/:|source=/,|src=/,", words):
            yield CommandRisk("privileged", "it starts a container that owns the machine")
    if call.name in ("nsenter", "debugfs"):
        yield CommandRisk("privileged", f"{call.name} reaches out of every sandbox")


def _hides(call: ProgramCall) -> Iterator[CommandRisk]:
    if not call.words or not call.words[0].computed:
        return
    if any(map(_broad, call.arguments)):
        yield CommandRisk("hidden", "the program is computed and its target is everything")
    for fed in call.fed:
        if fed.name in _DECODERS | DOWNLOADERS:
            yield CommandRisk("hidden", f"it runs what {fed.name} gives, unread")


def _runs_unknown(call: ProgramCall) -> Iterator[CommandRisk]:
    """A shell or `eval` that runs an unknown line; and variables that make programs load or run
    something.
    """
    for name, value in set_variables(call):
        if loads(name, value):
            what = quoted(value.text) if value.text.strip() else "what only running tells"
            yield CommandRisk("hidden", f"{name} has programs load or run {what}")
    lines = call.words[1:] if call.name == "eval" else ()
    if call.name in SHELLS:
        given = [at for at, word in enumerate(call.words) if _TAKES_LINE.fullmatch(word.text)]
        lines = call.words[given[0] + 1 :][:1] if given else ()
    if lines and not call.fed and all(_is_unknown(word) for word in lines[:1]):
        yield CommandRisk("hidden", f"{call.name} runs a line that only running tells")


def _is_unknown(word: Word) -> bool:
    """Whether the line does not show which program it starts with."""
    return word.computed and (not word.text.strip() or word.text[0] in " \t-/")


def _undoes_for_all(call: ProgramCall) -> Iterator[CommandRisk]:
    """Actions that cannot be undone and that affect others."""
    words = list(call.arguments)
    if call.name == "git":
        while words and words[0].startswith("-"):
            del words[: 2 if words[0] in _GIT_WITH_VALUE else 1]
        command, given = "".join(words[:1]), words[1:]
        forced = any(re.fullmatch(r"-[a-zA-Z]*[fd][a-zA-Z]*", word) for word in given)
        forced = forced or any(word.split("=")[0] in _GIT_FORCE for word in given)
        forced = forced or any(re.match(r"\+|:.", word) for word in given)
        if command == "push" and forced:
            yield CommandRisk("irreversible", "it overwrites or deletes what others have pushed")
        if command in ("filter-branch", "filter-repo") or words[:2] == ["reflog", "expire"]:
            yield CommandRisk("irreversible", f"git {command} rewrites the history permanently")
    elif tuple(words[:2]) in _FOR_GOOD.get(call.name, ()) or words[:1] in (
        [verb[0]] for verb in _FOR_GOOD.get(call.name, ()) if len(verb) == 1
    ):
        yield CommandRisk("irreversible", f"{call.name} {' '.join(words[:2])} is for good")


_JUDGES: tuple[Callable[[ProgramCall], Iterator[CommandRisk]], ...] = (
    _deletes,
    _empties,
    _writes_disks,
    _runs_downloads,
    _changes_permissions,
    _cuts_power,
    _changes_system,
    _reaches_out,
    _takes_privileges,
    _hides,
    _runs_unknown,
    _undoes_for_all,
)
