"""The table and the picture of labels in docs/security.md, made from the policy itself:
`python -m tests.security.lattice`.

For each kind of speaker beside the owner and each step of privacy, a call to each kind of sink is
put to the policy, in an owner's run.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from nanobot.labels import FROM_OUTSIDE, Label, Privacy, Speaker, of
from nanobot.messages import Role
from nanobot.plugins.common.policy.policy import Policy
from nanobot.plugins.common.policy.rules import PolicyInput
from nanobot.session.labelling import rights
from nanobot.tools.verdict import Verdict

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURE = DOCS / "pictures" / "labels.svg"
PAGE = DOCS / "security.md"
BEGIN, END = "<!-- labels: begin -->", "<!-- labels: end -->"
SAID = {
    Speaker.OWNER: "an owner typed it",
    Speaker.MEMBER: "a member typed it",
    Speaker.GUEST: "a guest",
    Speaker.PROGRAM: "another program",
    Speaker.PASSED_ON: "passed on by a person",
    Speaker.TOOL: "a tool brought it",
    Speaker.OUTSIDE: "outside, or unknown",
}
STEPS = {
    Privacy.PUBLIC: "public",
    Privacy.CONVERSATION: "of the conversation",
    Privacy.PERSON: "of a person",
    Privacy.SECRET: "secret",
}


class Sink(NamedTuple):
    """Where a call can bring what it carries. `outside`: it leaves nanobot. `words`: it carries
    private words to a host that nobody named."""

    name: str
    call: PolicyInput
    outside: bool = False
    words: bool = False


SINKS = (
    Sink("a file", PolicyInput(tool="write_file", arguments={"path": "notes.md"})),
    Sink("a command without network", PolicyInput(tool="exec", arguments={"command": "ls"})),
    Sink("memory, jobs, tasks", PolicyInput(tool="memory_save")),
    Sink("files that steer", PolicyInput(tool="write_file", arguments={"path": "AGENTS.md"})),
    Sink("another chat", PolicyInput(tool="message", elsewhere=True), outside=True),
    Sink("an MCP server", PolicyInput(tool="mcp__a__b", foreign=True, risky=True), outside=True),
    Sink("a known URL, plain search", PolicyInput(tool="web_fetch")),
    Sink("a new URL or host", PolicyInput(tool="web_fetch", sends=True), outside=True),
    Sink(
        "a URL with words of a file",
        PolicyInput(tool="web_fetch", sends=True, host="a.example"),
        outside=True,
        words=True,
    ),
)


def verdict(speaker: Speaker, privacy: Privacy, sink: Sink) -> Verdict:
    """The policy's verdict in an owner's run that sees such a piece."""
    label: Label = of(Speaker.OWNER, privacy=privacy).join(of(speaker, privacy=privacy))
    role = rights(label, Role.OWNER)
    private = sink.words and privacy >= Privacy.PERSON
    values = {name: getattr(sink.call, name) for name in PolicyInput.__struct_fields__}
    values |= {
        "tainted": label.tainted,
        "role": role,
        "joined_by_members": role is not Role.OWNER,
        "secret": "a secret" if sink.outside and privacy is Privacy.SECRET else "",
        "carries": "notes.md" if private else "",
        "to": "a.example" if private else "",
    }
    return Policy().judge(PolicyInput(**values)).verdict


def rows() -> Iterator[tuple[str, str, list[Verdict]]]:
    """Who, how private, and a verdict for each sink; steps with the same verdicts are one row."""
    for speaker, who in SAID.items():
        verdicts = {step: [verdict(speaker, step, sink) for sink in SINKS] for step in Privacy}
        for same, steps in groupby(Privacy, key=lambda step: verdicts[step]):
            names = [STEPS[step] for step in steps]
            yield who, "any" if len(names) == len(STEPS) else ", ".join(names), same


def table() -> str:
    """The table as Markdown. Speakers with the same verdicts share a row."""
    head = ["In view of an owner's run", "How private", *(sink.name for sink in SINKS)]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    shown = {Verdict.ALLOW: "yes", Verdict.ASK: "**asks**", Verdict.DENY: "no"}
    for (steps, verdicts), alike in groupby(rows(), key=lambda row: row[1:]):
        who = "; ".join(row[0] for row in alike)
        lines.append(f"| {who} | {steps} | {' | '.join(shown[each] for each in verdicts)} |")
    return "\n".join(lines)


_STYLE = """
.paper{fill:#ffffff;stroke:#d0d7de}.box{fill:#f6f8fa;stroke:#8c959f}.loud{fill:#fff1e5;stroke:#bc4c00}
text{fill:#1f2328;font:13px system-ui,sans-serif}.head{font-weight:600;font-size:15px}
.small{font-size:12px}.line{stroke:#656d76;fill:none}.tip{fill:#656d76}
.allow{fill:none;stroke:#656d76}.ask{fill:#bc4c00;stroke:#bc4c00}.deny{fill:#1f2328;stroke:#1f2328}
@media (prefers-color-scheme: dark){
.paper{fill:#0d1117;stroke:#30363d}.box{fill:#161b22;stroke:#6e7681}.loud{fill:#3d1f00;stroke:#f0883e}
text{fill:#e6edf3}.line{stroke:#8d96a0}.tip{fill:#8d96a0}
.allow{stroke:#8d96a0}.ask{fill:#f0883e;stroke:#f0883e}.deny{fill:#e6edf3;stroke:#e6edf3}}
"""
_WIDTH, _HEIGHT = 1_000, 775
_LEFT, _TOP, _ROW, _COLUMN, _DOT = 200, 520, 30, 86, 14


class _Drawing:
    """SVG elements in order."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        place = f'x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}"'
        self.parts.append(f"<text {place}>{escape(words)}</text>")

    def box(self, x: float, y: float, width: float, words: str, kind: str = "box") -> None:
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="32" rx="6" class="{kind}"/>'
        )
        self.text(x + width / 2, y + 21, words, anchor="middle")

    def arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        self.parts.append(
            f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" class="line" marker-end="url(#tip)"/>'
        )

    def dot(self, x: float, y: float, kind: Verdict) -> None:
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{_DOT}" height="{_DOT}" rx="3" class="{kind}"/>'
        )


def picture() -> str:
    """The lattice, and a field of the table for each speaker, sink and step of privacy, as SVG."""
    drawing = _Drawing()
    _who(drawing)
    _ladder(drawing)
    _matrix(drawing)
    body = "\n".join(drawing.parts)
    about = "Labels: who said a piece, how private it is, and which calls ask a person"
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">
<title>{about}</title>
<style>{_STYLE}</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" \
orient="auto"><path d="M0 0L8 4L0 8z" class="tip"/></marker></defs>
<rect x="1" y="1" width="{_WIDTH - 2}" height="{_HEIGHT - 2}" rx="10" class="paper"/>
{body}
</svg>
"""


def _who(drawing: _Drawing) -> None:
    """Speakers: a set. Arrows lead to what follows from their being in it."""
    drawing.text(30, 38, "Who said it: a set; the join is the union", "head")
    drawing.box(300, 60, 300, "tainted: its words command nothing", "loud")
    drawing.box(30, 60, 250, "rights of the least who spoke", "loud")
    typed = [speaker for speaker in SAID if speaker not in FROM_OUTSIDE]
    outside = [speaker for speaker in SAID if speaker in FROM_OUTSIDE]
    for number, speaker in enumerate(typed):
        top = 150 + 44 * number
        drawing.box(50, top, 200, SAID[speaker])
    drawing.arrow(150, 150, 150, 94)
    for number, speaker in enumerate(outside):
        drawing.box(350, 150 + 44 * number, 200, SAID[speaker])
    drawing.arrow(450, 150, 450, 94)
    drawing.text(150, 392, "nobody: the empty set", "small", "middle")
    drawing.arrow(150, 376, 150, 150 + 44 * len(typed) - 8)
    drawing.arrow(240, 376, 345, 150 + 44 * len(outside) - 16)


def _ladder(drawing: _Drawing) -> None:
    """Privacy: a ladder."""
    drawing.text(640, 38, "How private: the join is the higher step", "head")
    for number, step in enumerate(reversed(Privacy)):
        kind = "loud" if step is Privacy.SECRET else "box"
        drawing.box(720, 60 + 84 * number, 200, STEPS[step], kind)
        if number:
            drawing.arrow(820, 60 + 84 * number, 820, 60 + 84 * (number - 1) + 34)


def _matrix(drawing: _Drawing) -> None:
    """Who by sink; in each field a square for each step of privacy."""
    drawing.text(30, 436, "In an owner's run that sees such a piece, a call to", "head")
    for column, sink in enumerate(SINKS):
        for line, words in enumerate(wrap(sink.name, 11)):
            x = _LEFT + _COLUMN * column + 2 * (_DOT + 3)
            drawing.text(x, 464 + 16 * line, words, "small", "middle")
    for row, (speaker, who) in enumerate(SAID.items()):
        drawing.text(30, _TOP + _ROW * row + 12, who)
        for column, sink in enumerate(SINKS):
            for number, step in enumerate(Privacy):
                x = _LEFT + _COLUMN * column + number * (_DOT + 3)
                drawing.dot(x, _TOP + _ROW * row, verdict(speaker, step, sink))
    bottom = _TOP + _ROW * len(SAID) + 22
    drawing.dot(30, bottom - 12, Verdict.ALLOW)
    drawing.text(52, bottom, "is made")
    drawing.dot(130, bottom - 12, Verdict.ASK)
    drawing.text(152, bottom, "asks a person")
    drawing.text(290, bottom, f"the squares of a field: {', '.join(STEPS.values())}")


def with_table(page: str) -> str:
    """The page with the current table. Raises ValueError if it has no place for it."""
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
