"""Pictures of the terminal, 80 by 24, as docs/pictures keeps them.

    python -m tests.cli.screenshots [FOLDER]

runs nanobot in a terminal with a model that says what a script says, and draws what stands there.
"""

from __future__ import annotations

import asyncio
import io
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pyte.screens import Char
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from tests.cli.talking import Home, answered
from tests.doubles.openai_server import Answer, Body, OpenAIServer
from tests.doubles.terminal import ENTER, Screen, Terminal, in_terminal

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_WHERE = '{"question": "Where to?", "choices": ["the sea", "the mountains"]}'
_WORK = [
    ("write_file", '{"path": "trip.md", "content": "# Trip\\n\\nBy train, two nights."}'),
    ("exec", '{"command": "wc -l trip.md"}'),
]
_TRIP = """Here is the **plan** (it is in `trip.md`, too):

| Day | Where | 天气 |
|---|---|---|
| Saturday | Lake Teletskoye | 晴 |
| Sunday | the waterfalls | 多云 |

1. The night train leaves at 21:40.
2. Take the *early* boat.

```sh
nanobot cron add "every friday 18:00 Pack for the lake"
```
"""


def painted(screen: Screen) -> Text:
    """What stands on the screen, with its looks."""
    rows, columns = range(screen.cells.lines), range(screen.cells.columns)
    lines = ([_painted(screen.cells.buffer[y][x]) for x in columns] for y in rows)
    return Text("\n").join(Text.assemble(*line) for line in lines)


def _painted(cell: Char) -> tuple[str, Style]:
    """A wide character has a style of its own: pieces of text are drawn as if all were narrow."""
    colour = cell.fg.replace("bright", "bright_").replace("brown", "yellow")
    if colour == "default" and cell_len(cell.data) < 2:
        colour = ""
    return cell.data, Style(
        color=colour or None,
        bold=cell.bold or None,
        dim=cell.blink or None,
        italic=cell.italics or None,
        underline=cell.underscore or None,
        strike=cell.strikethrough or None,
        reverse=cell.reverse or None,
    )


def drawn(screen: Screen, title: str) -> str:
    """The picture, which loads nothing from anywhere."""
    console = Console(
        record=True, width=80, file=io.StringIO(), force_terminal=True, legacy_windows=False
    )
    console.print(painted(screen), no_wrap=True, overflow="crop")
    svg = console.export_svg(title=title, theme=DIMMED_MONOKAI, unique_id=title.replace(" ", "-"))
    lines = _FONTS.sub("", svg).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def script(body: Body) -> Answer:
    """What the model of the pictures says."""
    messages = body["messages"]
    text = [str(m["content"]) for m in messages if m["role"] == "user"][-1]
    done = messages[-1]["role"] == "tool"
    if "Plan my Sunday" in text:
        return Answer("A lake it is.") if done else Answer(tool_calls=[("ask_user", _WHERE)])
    if "clean up" in text:
        command = '{"command": "git push --force origin main"}'
        return Answer("Done.") if done else Answer(tool_calls=[("exec", command)])
    return Answer(_TRIP) if done else Answer(tool_calls=_WORK)


async def trip(terminal: Terminal) -> None:
    """A plan in Markdown, with tools and wide characters."""
    terminal.type("Plan a trip to the lake, please." + ENTER)
    await terminal.shows("Pack for the lake")
    await terminal.until(lambda: terminal.screen.lines[-2:] == ["", ">"])


async def question(terminal: Terminal) -> None:
    """Something is asked, with choices."""
    terminal.type("Plan my Sunday." + ENTER)
    await terminal.shows("the mountains")
    await terminal.until(lambda: terminal.screen.lines[-1] == ">")


async def approval(terminal: Terminal) -> None:
    """A call that asks."""
    terminal.type("Please clean up the branch." + ENTER)
    await terminal.shows("Always here")
    await terminal.until(lambda: terminal.screen.lines[-1] == ">")


async def several(terminal: Terminal) -> None:
    """/help in the conversation."""
    terminal.type("/status" + ENTER)
    await answered(terminal, "Gateway: up 0 min, 0 running")


async def ended(terminal: Terminal) -> None:
    """A command that ends by itself."""
    await terminal.ended()


SCENES: dict[str, tuple[tuple[str, ...], Callable[[Terminal], Awaitable[None]]]] = {
    "conversation": (("agent",), trip),
    "question": (("agent",), question),
    "approval": (("agent",), approval),
    "status": (("agent",), several),
    "help": (("--help",), ended),
    "sessions": (("sessions", "list", "--all"), ended),
}


@asynccontextmanager
async def _home(folder: Path) -> AsyncIterator[Home]:
    async with OpenAIServer(script) as model:
        yield Home(folder, model, "openai/gpt-6-luna")


async def taken(name: str, folder: Path) -> Screen:
    """The screen of one of the scenes, in a home of its own."""
    arguments, act = SCENES[name]
    async with _home(folder) as home:
        environ = home.environ(COLORTERM="truecolor")
        if name == "sessions":
            for words in (("agent", "-m", "Plan a trip."), ("agent", "-m", "写一首关于湖的诗")):
                async with in_terminal(words, environ, folder) as before:
                    await before.ended()
        async with in_terminal(arguments, environ, folder) as terminal:
            if arguments == ("agent",):
                await terminal.shows("Ctrl-D leaves.")
                await terminal.until(lambda: terminal.screen.lines[-1] == ">")
            await act(terminal)
            return terminal.screen


def picture(name: str) -> str:
    """One of the scenes, as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        screen = asyncio.run(taken(name, home))
    return drawn(screen, f"nanobot {' '.join(SCENES[name][0])}")


def main(folder: Path) -> None:
    """All of them, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SCENES:
        (folder / f"{name}.svg").write_text(picture(name), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else PICTURES)
