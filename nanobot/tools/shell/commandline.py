"""A shell command line as it would be run: which programs with which words, what is fed to whom.

Parsed by the grammar of bash, not searched for patterns: quoting, escapes, variables that the line
itself sets, wrappers such as sudo, and shells within shells are seen through. What only running
could tell (`$(...)`, variables from outside) is marked as computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_DEPTH = 8
"""Shells within shells, so deep; deeper ones are not looked into and count as unclear."""
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish"})
WRAPPERS = frozenset(
    {"at", "batch", "builtin", "busybox", "chroot", "chrt", "command", "doas", "env", "exec"}
    | {"flock", "ionice", "ltrace", "nice", "nohup", "parallel", "runuser", "script", "setsid"}
    | {"ssh", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "time", "timeout"}
    | {"unshare", "watch", "xargs"}
)
"""Programs that run the program named in their arguments."""

_KNOWN = {"HOME": "~", "PWD": ".", "IFS": " "}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|.)", re.DOTALL)
_ANSI_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "0": "\0"}


class Word(msgspec.Struct, frozen=True):
    """A word after quotes are gone. `computed`: running alone tells what stands there; `text` is
    what is known of it, with `~` for the home and `.` for the working directory."""

    text: str
    computed: bool = False


class ProgramCall(msgspec.Struct, frozen=True):
    """A program that is run. `fed` are the programs whose output it reads or is given as words,
    `input` the text it reads if the line itself holds it, `writes` files it is redirected to."""

    words: tuple[Word, ...]
    writes: tuple[Word, ...] = ()
    fed: tuple[ProgramCall, ...] = ()
    input: str = ""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words behind the program."""
        return tuple(word.text for word in self.words[1:])


class CommandLine(msgspec.Struct, frozen=True):
    """All calls of a command line, those in its functions, loops and inner shells included.

    `bombs`: functions and loops that start themselves without end. `unclear`: not valid shell, or
    nested too deeply to be seen through.
    """

    calls: tuple[ProgramCall, ...]
    bombs: tuple[str, ...] = ()
    unclear: bool = False


def parse(command: str) -> CommandLine:
    """The command line as bash would understand it."""
    reading = _Reading()
    reading.read(command, 0)
    return CommandLine(tuple(reading.calls), tuple(reading.bombs), reading.unclear)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Loaded when the first command is looked at: no start waits for it.
    import tree_sitter_bash  # noqa: PLC0415
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


class _Reading:
    """One walk over a command line and every line within it."""

    def __init__(self) -> None:
        self.calls: list[ProgramCall] = []
        self.bombs: list[str] = []
        self.unclear = False
        self._variables: dict[str, Word] = {}

    def read(self, command: str, depth: int) -> list[ProgramCall]:
        """The calls of a line; everything found is kept too."""
        if depth > MAX_DEPTH:
            self.unclear = True
            return []
        root = _parser().parse(command.encode("utf-8", "replace")).root_node
        self.unclear = self.unclear or root.has_error
        return self._walk(root, depth)

    def _walk(self, node: Node, depth: int) -> list[ProgramCall]:
        match node.type:
            case "command":
                return [self._command(node, depth)]
            case "redirected_statement":
                return self._redirected(node, depth)
            case "pipeline":
                return self._pipeline(node.named_children, depth)
            case "variable_assignment":
                self._assign(node, depth)
                return []
            case "function_definition":
                self._function(node)
            case "while_statement" | "for_statement" | "c_style_for_statement":
                self._loop(node)
            case _:
                pass
        return [call for child in node.named_children for call in self._walk(child, depth)]

    def _command(self, node: Node, depth: int) -> ProgramCall:
        words: list[Word] = []
        fed: list[ProgramCall] = []
        given = ""
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assign(child, depth)
            elif child.type == "herestring_redirect":
                given = " ".join(self._word(one, depth).text for one in child.named_children)
            elif child.type not in ("file_redirect", "heredoc_redirect"):
                inner = child.named_children[0] if child.type == "command_name" else child
                fed += self._inside(inner, depth)
                words.append(self._word(inner, depth))
        return self._kept(ProgramCall(tuple(words), (), tuple(fed), given), depth)

    def _redirected(self, node: Node, depth: int) -> list[ProgramCall]:
        body = node.child_by_field_name("body")
        calls = [] if body is None else self._walk(body, depth)
        writes: list[Word] = []
        given = ""
        after: list[Node] = []
        for redirect in node.children_by_field_name("redirect"):
            if redirect.type == "file_redirect":
                target = redirect.child_by_field_name("destination")
                if target is not None and any(">" in child.type for child in redirect.children):
                    writes.append(self._word(target, depth))
            else:
                text, stages = self._heredoc(redirect, depth)
                given, after = given + text, [*after, *stages]
        if not calls:
            return [self._kept(ProgramCall((), tuple(writes)), depth)]
        last = calls[-1]
        calls[-1] = msgspec.structs.replace(last, writes=(*last.writes, *writes))
        if given:
            calls[0] = msgspec.structs.replace(calls[0], input=given)
        for call in calls:
            self._kept(call, depth)
        return [*calls, *self._pipeline(after, depth, calls)]

    def _heredoc(self, redirect: Node, depth: int) -> tuple[str, list[Node]]:
        """The text that a redirect holds, and the stages that stand behind its `<<EOF |`."""
        text, stages = "", []
        for child in redirect.named_children:
            if child.type == "heredoc_body":
                text += _text(child)
            elif child.type in ("pipeline", "command"):
                stages.append(child)
            elif redirect.type == "herestring_redirect":
                text += self._word(child, depth).text
        return text, stages

    def _pipeline(
        self, stages: Iterable[Node], depth: int, before: Iterable[ProgramCall] = ()
    ) -> list[ProgramCall]:
        found: list[ProgramCall] = []
        feeding = tuple(before)
        for stage in stages:
            parts = stage.named_children if stage.type == "pipeline" else [stage]
            for part in parts:
                calls = self._walk(part, depth)
                if feeding:
                    calls = [
                        msgspec.structs.replace(call, fed=(*call.fed, *feeding)) for call in calls
                    ]
                    for call in calls:
                        self._kept(call, depth)
                found += calls
                feeding = tuple(calls) or feeding
        return found

    def _kept(self, call: ProgramCall, depth: int) -> ProgramCall:
        """The call, written down with every call that it makes in turn."""
        self.calls.append(call)
        self._look_inside(call, depth)
        return call

    def _look_inside(self, call: ProgramCall, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.unclear = True
            return
        if call.name in WRAPPERS:
            for at, word in enumerate(call.words[1:], 1):
                if word.computed or not word.text.startswith("-"):
                    inner = msgspec.structs.replace(call, words=call.words[at:])
                    if inner.name != call.name:
                        self._kept(inner, depth + 1)
        if call.name == "eval":
            self.read(
                " ".join(word.text for word in call.words[1:] if not word.computed), depth + 1
            )
        if call.name in ("find", "fd"):
            self._executed_by_find(call, depth)
        if call.name in SHELLS:
            self._shell(call, depth)

    def _executed_by_find(self, call: ProgramCall, depth: int) -> None:
        for at, word in enumerate(call.words):
            if word.text in ("-exec", "-execdir", "-ok", "-okdir", "-x", "--exec"):
                places = [one for one in call.arguments[: at - 1] if not one.startswith("-")][:1]
                inner = [
                    Word(places[0]) if one.text == "{}" and places else one
                    for one in call.words[at + 1 :]
                    if one.text not in (";", "+")
                ]
                self._kept(ProgramCall(tuple(inner)), depth + 1)

    def _shell(self, call: ProgramCall, depth: int) -> None:
        """What a shell is told to run: by -c, or on its input."""
        words = call.words[1:]
        for at, word in enumerate(words):
            if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word.text) and at + 1 < len(words):
                self.read(words[at + 1].text, depth + 1)
                return
        given = [call.input, *(_printed(one) for one in call.fed)]
        for text in given:
            if text:
                self.read(text, depth + 1)

    def _assign(self, node: Node, depth: int) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None and value is not None:
            self._inside(value, depth)
            self._variables[_text(name)] = self._word(value, depth)

    def _inside(self, node: Node, depth: int) -> list[ProgramCall]:
        """The calls of the substitutions within a word."""
        if node.type in ("command_substitution", "process_substitution"):
            return [call for child in node.named_children for call in self._walk(child, depth + 1)]
        if node.type in ("raw_string", "ansi_c_string"):
            return []
        return [call for child in node.named_children for call in self._inside(child, depth)]

    def _function(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        own = [one for one in _commands(body) if _name_of(one) == _text(name)]
        multiplied = len(own) > 1 or any(
            one.parent is not None and (one.parent.type == "pipeline" or _backgrounds(one.parent))
            for one in own
        )
        if own and multiplied:
            self.bombs.append(f"the function {_text(name)} starts itself more than once")

    def _loop(self, node: Node) -> None:
        condition = node.child_by_field_name("condition")
        endless = node.type == "c_style_for_statement" and condition is None
        if condition is not None and _text(condition).strip() in ("true", ":", "[ 1 ]", "((1))"):
            endless = True
        body = node.child_by_field_name("body")
        if endless and body is not None and _backgrounds(body):
            waits = any(_name_of(one) in ("wait", "sleep", "break") for one in _commands(body))
            if not waits:
                self.bombs.append("a loop starts processes without end")

    def _word(self, node: Node, depth: int) -> Word:
        text = _text(node)
        match node.type:
            case "raw_string":
                word = Word(text[1:-1])
            case "ansi_c_string":
                word = Word(_ANSI.sub(_unescape_ansi, text[2:-1]))
            case "simple_expansion" | "expansion":
                word = self._variable(node)
            case "command_substitution" | "process_substitution" | "arithmetic_expansion":
                word = Word("", computed=True)
            case "string" | "translated_string" | "concatenation":
                parts = [self._word(child, depth) for child in node.named_children]
                whole = "".join(part.text for part in parts)
                word = Word(whole, any(part.computed for part in parts))
            case "string_content":
                word = Word(re.sub(r'\\([$`"\\])', r"\1", text).replace("\\\n", ""))
            case _:
                word = Word(_ESCAPE.sub(r"\1", text.replace("\\\n", "")))
        return word

    def _variable(self, node: Node) -> Word:
        names = [_text(one) for one in node.named_children if one.type == "variable_name"]
        name = names[0] if names else ""
        if name in self._variables:
            return self._variables[name]
        return Word(_KNOWN[name]) if name in _KNOWN else Word("", computed=True)


def _printed(call: ProgramCall) -> str:
    """What echo and its like print, as far as the line itself holds it."""
    if call.name not in ("echo", "printf", "cat"):
        return ""
    if call.name == "cat":
        return call.input
    return " ".join(word for word in call.arguments if not word.startswith("-"))


def _commands(node: Node) -> Iterator[Node]:
    if node.type == "command":
        yield node
    for child in node.named_children:
        yield from _commands(child)


def _name_of(command: Node) -> str:
    name = command.child_by_field_name("name")
    return "" if name is None else _text(name)


def _backgrounds(node: Node) -> bool:
    return any(child.type == "&" for child in node.children)


def _unescape_ansi(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xu" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code.isdecimal():
        return chr(int(code, 8) & 0xFF)
    return _ANSI_NAMED.get(code, code)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
