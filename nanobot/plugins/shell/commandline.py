"""Parses a shell command line into the programs it would run, with their words and inputs.

It uses the grammar of bash rather than patterns: quoting, escapes, braces, variables and lists set
by the line itself, wrappers such as sudo, and nested shells are resolved. Parts that are only known
at run time (`$(...)`, outside variables) are marked as computed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from nanobot.plugins.shell import words as spelling
from nanobot.plugins.shell.bombs import Functions, is_endless
from nanobot.plugins.shell.hidden_programs import matters
from nanobot.plugins.shell.inner_calls import (
    SHELLS,
    TERMINALS,
    inner_lines,
    inner_words,
    matched_words,
    printed,
)
from nanobot.plugins.shell.program_call import ProgramCall
from nanobot.plugins.shell.syntax_nodes import index_of, redirects_of, text_of, variable_of
from nanobot.plugins.shell.words import COMPUTED, Word
from nanobot.text import pattern

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_DEPTH = 8
"""Maximum depth of nested shells; deeper ones are not parsed and count as unclear."""
MAX_CALLS, MAX_WORDS = 1_000, 20_000
"""Maximum in one line, including its inner lines; a line with more counts as unclear."""
MAX_LINES = 150
"""Maximum lines within one line, likewise."""

_VALUES = {"HOME": "~", "PWD": ".", "IFS": " "}
_NAME = pattern(r"[A-Za-z_]\w*")
_MOST_WORDS, _MOST_CHARS = 256, 100_000
_READERS = frozenset({"read", "mapfile", "readarray"})


class CommandLine(msgspec.Struct, frozen=True):
    """All calls of a command line, including those in its functions, loops and inner shells.

    `bombs`: functions and loops that start themselves endlessly. `unclear`: invalid shell, or too
    deeply nested.
    """

    calls: tuple[ProgramCall, ...]
    bombs: tuple[str, ...] = ()
    unclear: bool = False


def parse(command: str) -> CommandLine:
    """Parse a command line like bash."""
    reading, unclear = _Reading(), False
    try:
        reading.read(command, 0)
    except RecursionError:
        unclear = True
    bombs = (*reading.bombs, *reading.functions.bombs())
    return CommandLine(tuple(reading.calls), bombs, unclear or reading.unclear)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Loaded for the first command, so that it does not delay the start.
    import tree_sitter_bash  # noqa: PLC0415
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


class _Reading:
    """One pass over a command line and every line within it."""

    def __init__(self) -> None:
        self.calls: list[ProgramCall] = []
        self._words = 0
        self._lines = 0
        self.bombs: list[str] = []
        self.functions = Functions()
        self._exhausted = False
        self._broken = False
        self._variables: dict[str, list[Word]] = {}
        # The program whose output a variable holds, and the text written to a file.
        self._sources: dict[str, tuple[ProgramCall, ...]] = {}
        self._files: dict[str, str] = {}

    def read(self, command: str, depth: int, *, typed: bool = False) -> list[ProgramCall]:
        """The calls of a line, which are also recorded. Text that is `typed` into a terminal may be
        meant for a program other than a shell.
        """
        self._lines += 1
        if depth > MAX_DEPTH or self._lines > MAX_LINES:
            self._exhausted = True
            return []
        root = _parser().parse(command.encode("utf-8", "replace")).root_node
        broken = self._broken
        self._broken = broken or root.has_error
        calls = self._walk(root, depth)
        if typed:
            self._broken = broken
        return calls

    @property
    def unclear(self) -> bool:
        """Whether part of it was not understood or not parsed."""
        return self._exhausted or self._broken

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
                self.functions.add(node)
            case "while_statement" | "for_statement" | "c_style_for_statement":
                if is_endless(node):
                    self.bombs.append("a loop starts processes without end")
                self._bind_loop(node, depth)
            case _:
                pass
        return [call for child in node.named_children for call in self._walk(child, depth)]

    def _command(self, node: Node, depth: int) -> ProgramCall:
        words: list[Word] = []
        fed: list[ProgramCall] = []
        given = ""
        for child in node.named_children:
            # Two words without a space between them: the grammar misread a variable.
            before = child.prev_sibling
            if before is not None and before.end_byte == child.start_byte and before.is_named:
                self._broken = True
            if child.type == "variable_assignment":
                self._assign(child, depth)
            elif child.type == "herestring_redirect":
                fed += self._inside(child, depth)
                given = " ".join(self._word(part).text for part in child.named_children)
            elif child.type not in ("file_redirect", "heredoc_redirect"):
                inner = child.named_children[0] if child.type == "command_name" else child
                fed += self._inside(inner, depth)
                words += spelling.fields(self._encoded(inner))
        return self._kept(ProgramCall(tuple(words), (), tuple(fed), given), depth)

    def _redirected(self, node: Node, depth: int) -> list[ProgramCall]:
        body = node.child_by_field_name("body")
        calls = [] if body is None else self._walk(body, depth)
        writes: list[Word] = []
        reads: list[Word] = []
        fed: list[ProgramCall] = []
        given = ""
        after: list[Node] = []
        for redirect in redirects_of(node):
            if redirect.type == "file_redirect":
                target = redirect.child_by_field_name("destination")
                if target is None:
                    continue
                outward = any(">" in child.type for child in redirect.children)
                (writes if outward else reads).append(self._word(target))
                fed += [] if outward else self._inside(target, depth)
            else:
                text, stages = self._heredoc(redirect)
                given, after = given + text, [*after, *stages]
        if not calls:
            return [self._kept(ProgramCall((), tuple(writes)), depth)]
        last = calls[-1]
        calls[-1] = msgspec.structs.replace(last, writes=(*last.writes, *writes))
        first = calls[0]
        calls[0] = msgspec.structs.replace(
            first,
            input=given or first.input,
            fed=(*first.fed, *fed),
            reads=(*first.reads, *reads),
        )
        for call in calls:
            self._kept(call, depth)
        return [*calls, *self._pipeline(after, depth, calls)]

    def _heredoc(self, redirect: Node) -> tuple[str, list[Node]]:
        """The text of a here-document, and the pipeline stages after its `<<EOF |`."""
        text, stages = "", []
        for child in redirect.named_children:
            if child.type == "heredoc_body":
                text += text_of(child)
            elif child.type in ("pipeline", "command"):
                stages.append(child)
            elif redirect.type == "herestring_redirect":
                text += self._word(child).text
        return text, stages

    def _pipeline(
        self, stages: Iterable[Node], depth: int, before: Iterable[ProgramCall] = ()
    ) -> list[ProgramCall]:
        calls: list[ProgramCall] = []
        feeding = tuple(before)
        for stage in stages:
            parts = stage.named_children if stage.type == "pipeline" else [stage]
            for part in parts:
                started = self._walk(part, depth)
                if feeding:
                    started = [
                        msgspec.structs.replace(call, fed=(*call.fed, *feeding)) for call in started
                    ]
                    for call in started:
                        self._kept(call, depth)
                calls += started
                feeding = tuple(started) or feeding
        return calls

    def _kept(self, call: ProgramCall, depth: int) -> ProgramCall:
        """Record the call, and every call that it makes in turn."""
        if len(self.calls) >= MAX_CALLS or self._words > MAX_WORDS:
            self._exhausted = True
            return call
        self.calls.append(call)
        self._words += len(call.words)
        self._note_files(call)
        if call.name in _READERS:
            self._read_into(call)
        if depth > MAX_DEPTH:
            self._exhausted = True
            return call
        for words in (*inner_words(call), *matched_words(call)):
            self._kept(msgspec.structs.replace(call, words=words), depth + 1)
        for line in (*inner_lines(call), *self._run_files(call)):
            self.read(line, depth + 1, typed=call.name in TERMINALS)
        return call

    def _note_files(self, call: ProgramCall) -> None:
        """Record the text that the line itself writes to files, if it is known."""
        sources = (call, *call.fed) if call.name == "tee" else (call,)
        text = "\n".join(filter(None, map(printed, sources)))
        targets = [word.text for word in call.writes]
        targets += call.operands if call.name == "tee" else ()
        for target in targets if text else ():
            self._files[posixpath.normpath(target)] = text

    def _run_files(self, call: ProgramCall) -> list[str]:
        """The texts of files that the line has written and the call runs."""
        if call.name in SHELLS | {"source", "."}:
            run = [*call.operands[:1], *(word.text for word in call.reads)]
        else:
            run = [call.words[0].text] if call.words else []
        return [self._files[path] for path in map(posixpath.normpath, run) if path in self._files]

    def _read_into(self, call: ProgramCall) -> None:
        """Bind variables that are filled from a call's input."""
        text = call.input or " ".join(map(printed, call.fed))
        for name in call.operands:
            self._set(name, [Word(text, computed=not text)])
            self._sources[name] = call.fed

    def _bind_loop(self, node: Node, depth: int) -> None:
        """Bind the variable of a `for` loop over words in the line."""
        name = node.child_by_field_name("variable")
        if node.type != "for_statement" or name is None:
            return
        words = [
            word
            for child in node.named_children
            if child.type not in ("variable_name", "do_group", "compound_statement")
            for word in spelling.fields(self._encoded(child))
        ]
        if words and not any(word.computed for word in words):
            self._set(text_of(name), words)

    def _assign(self, node: Node, depth: int) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or value is None:
            return
        if matters(text_of(name)):
            # As if it were `env NAME=value`: it applies to the following commands.
            word = self._word(value)
            setting = Word(f"{text_of(name)}={word.text}", computed=word.computed)
            self._kept(ProgramCall((Word("env"), setting)), depth)
        self._sources[text_of(name)] = tuple(self._inside(value, depth))
        if value.type == "array":
            words = [
                word
                for child in value.named_children
                for word in spelling.fields(self._encoded(child))
            ]
            added = any(child.type == "+=" for child in node.children)
            before = self._variables.get(text_of(name), []) if added else []
            self._set(text_of(name), [*before, *words])
        else:
            self._set(text_of(name), [self._word(value)])

    def _set(self, name: str, words: list[Word]) -> None:
        """Values that keep doubling are not tracked."""
        if len(words) > _MOST_WORDS or sum(len(word.text) for word in words) > _MOST_CHARS:
            words = [Word("", computed=True)]
        self._variables[name] = words

    def _inside(self, node: Node, depth: int) -> list[ProgramCall]:
        """The calls of the substitutions within a word, and of those in its variables."""
        if node.type in ("command_substitution", "process_substitution"):
            return [call for child in node.named_children for call in self._walk(child, depth + 1)]
        if node.type in ("raw_string", "ansi_c_string"):
            return []
        held = self._sources.get(variable_of(node), ())
        inner = [call for child in node.named_children for call in self._inside(child, depth)]
        return [*held, *inner]

    def _word(self, node: Node) -> Word:
        return spelling.one_word(self._encoded(node))

    def _encoded(self, node: Node, *, quoted: bool = False) -> str:
        """A word in the encoded form that the functions of `words` parse."""
        text = text_of(node)
        match node.type:
            case "raw_string":
                encoded = spelling.JOIN + spelling.literal(text[1:-1])
            case "ansi_c_string":
                encoded = spelling.JOIN + spelling.literal(spelling.unescaped(text[2:-1]))
            case "simple_expansion" | "expansion":
                encoded = self._expanded(variable_of(node), index_of(node), quoted=quoted)
            case "command_substitution":
                encoded = self._substituted(node, quoted=quoted)
            case "process_substitution" | "arithmetic_expansion":
                encoded = COMPUTED
            case "string" | "translated_string":
                parts = [self._encoded(child, quoted=True) for child in node.named_children]
                encoded = spelling.JOIN + "".join(parts)
            case "concatenation":
                encoded = self._joined(node)
            case "string_content":
                unquoted = re.sub(r'\\([$`"\\])', r"\1", text).replace("\\\n", "")
                encoded = spelling.literal(unquoted)
            case _:
                encoded = spelling.bare(text)
        return encoded

    def _substituted(self, node: Node, *, quoted: bool) -> str:
        """The value of a substitution: the printed text, if the line itself contains it."""
        match node.named_children:
            case [inner] if inner.type == "command":
                words = [
                    word
                    for child in inner.named_children
                    for word in spelling.fields(self._encoded(child))
                ]
                text = printed(ProgramCall(tuple(words))).rstrip("\n")
                if text and not any(word.computed for word in words):
                    return spelling.value([Word(text, computed=True)], quoted=quoted, listed=False)
        return COMPUTED

    def _joined(self, node: Node) -> str:
        """A word of several parts. The grammar takes a variable after an option for a separate
        word.
        """
        encoded, after_dollar = "", False
        for child in node.children:
            split = _NAME.match(text_of(child)) if after_dollar else None
            if split:
                encoded += self._expanded(split[0], "", quoted=False)
                encoded += spelling.bare(text_of(child)[split.end() :])
            elif child.is_named:
                encoded += self._encoded(child)
            after_dollar = child.type == "$"
        return encoded

    def _expanded(self, name: str, index: str, *, quoted: bool) -> str:
        words = self._variables.get(name)
        if words is None:
            words = [Word(_VALUES[name])] if name in _VALUES else [Word("", computed=True)]
        elif index not in ("@", "*", ""):
            at = int(index) if index.isdecimal() else 0
            words = words[at : at + 1]
        return spelling.value(words, quoted=quoted, listed=index == "@" or len(words) > 1)
