"""An owner's ordinary day stays free of questions: forty usual requests on a whole gateway, with a
scripted model and real tools, and at most two of them ask.

A day is nine conversations of one chat. In one test /new begins each, as people do when the topic
changes; in the other nobody says /new, so that all after the first page is tainted.
"""

from __future__ import annotations

import json

import pytest

from tests.doubles.web_server import WebServer
from tests.process.harness import World
from tests.security.puppet import QUESTION, Puppet

SETTINGS = """
[tools.web]
allow_private = ["127.0.0.1"]
search = "searxng"
searxng_url = "{url}"
[tools.exec]
sandbox = "bwrap"
hosts = ["registries", "127.0.0.1:{port}"]
"""
MOST_QUESTIONS = 2

Call = tuple[str, dict[str, object]]


def run(command: str, **more: object) -> Call:
    return "exec", {"command": command, **more}


def day(site: WebServer) -> list[list[tuple[str, Call]]]:
    """What is said, and the call that the model makes of it."""
    searched, given, linked = site.url("/e-bikes"), site.url("/article"), site.url("/recipe")
    install = f"pip install --retries 0 --timeout 1 -i {site.url('/simple')} --target lib six"
    return [
        [
            ("What is on my list?", ("read_file", {"path": "todo.md"})),
            (
                "Add milk to it.",
                ("edit_file", {"path": "todo.md", "old_text": "bread", "new_text": "bread, milk"}),
            ),
            ("Remind me at nine to call Ann.", ("cron", remind("0 9 * * *", "Call Ann."))),
            ("I prefer tea, by the way.", ("memory_save", {"text": "Prefers tea to coffee"})),
            ("What do I drink?", ("memory_search", {"query": "tea or coffee"})),
        ],
        [
            (
                "Which e-bikes are good for hills? Search the web.",
                ("web_search", {"query": "best e-bikes for hills 2026 test"}),
            ),
            ("Read the first.", ("web_fetch", {"url": searched})),
            ("Is there more on that page?", ("web_fetch", {"url": searched, "offset": 2})),
            ("And what do they cost?", ("web_search", {"query": "e-bikes hills price comparison"})),
            (
                "Write that down in e-bikes.md.",
                ("write_file", {"path": "e-bikes.md", "content": "# E-bikes for hills"}),
            ),
            ("Show me the file.", ("read_file", {"path": "e-bikes.md"})),
            ("Send me the file.", ("message", {"content": "Here.", "files": ["e-bikes.md"]})),
        ],
        [
            ("Which scripts are there?", ("list_dir", {"path": "."})),
            ("What does sums.py do?", ("read_file", {"path": "sums.py"})),
            (
                "Make it print 3.",
                ("edit_file", {"path": "sums.py", "old_text": "1 + 1", "new_text": "1 + 2"}),
            ),
            ("Run it.", run("python3 sums.py")),
            ("Put all of it under git.", run("git init -q . && git add sums.py todo.md")),
            (
                "Commit that.",
                run("git -c user.name=A -c user.email=a@b.example commit -qm 'Sums'"),
            ),
            ("What did I commit?", run("git log --stat")),
            ("Where is milk mentioned?", ("search_files", {"pattern": "milk"})),
        ],
        [
            ("Install six, please.", run(install)),
            ("Does it work?", run("PYTHONPATH=lib python3 -c 'import json; print(1)'")),
            ("Push it.", run(f"git push -q {site.url('/repo.git')} HEAD")),  # asks
        ],
        [
            (f"Sum this up: {given}", ("web_fetch", {"url": given})),
            ("Keep that in notes.md.", ("write_file", {"path": "notes.md", "content": "A sum."})),
            (f"And this one, {linked}?", ("web_fetch", {"url": linked})),
            (
                "Add it.",
                ("edit_file", {"path": "notes.md", "old_text": "A sum.", "new_text": "Two sums."}),
            ),
            ("How many words are that?", run("wc -w notes.md")),
        ],
        [
            ("What did we find about e-bikes?", ("read_file", {"path": "e-bikes.md"})),
            ("Make a table of it.", ("write_file", {"path": "table.md", "content": "| a | b |"})),
            ("Commit both.", run("git add e-bikes.md table.md && git status --short")),
        ],
        [
            ("Which reminders do I have?", ("cron", {"action": "list"})),
            ("Water the plants, every two days.", ("cron", remind("every 2 days", "Water them."))),
            ("No, every week.", ("cron", remind("@weekly", "Water the plants."))),
            ("Take the second away.", ("cron", {"action": "remove", "job_id": "2"})),
        ],
        [
            ("Tell Bob that I am late.", message("2", "I am late.")),
            ("And that I bring cake.", message("2", "I bring cake.")),
            (
                "Unpack this.",
                run("mkdir -p box && tar -cf box.tar todo.md && tar -xf box.tar -C box"),
            ),
        ],
        [
            ("How is the weather in Bern?", ("web_search", {"query": "weather Bern tomorrow"})),
            ("Then I take the train. Remember that.", ("memory_save", {"text": "Takes trains"})),
        ],
    ]


def remind(schedule: str, text: str) -> dict[str, object]:
    return {"action": "add", "schedule": schedule, "message": text}


def message(chat: str, text: str) -> Call:
    return "message", {"content": text, "channel": "telegram", "chat_id": chat}


@pytest.mark.parametrize(
    ("fresh", "expected"), [(True, ["Push it."]), (False, ["Install six, please.", "Push it."])]
)
async def test_forty_usual_requests_ask_twice_at_most(
    world: World, site: WebServer, expected: list[str], *, fresh: bool
) -> None:
    world.configure(more=SETTINGS.format(url=site.url(""), port=site.port))
    for path in ("/e-bikes", "/article", "/recipe"):
        site.page(path, b"<p>Something to read.")
    hits = [{"title": "It", "url": site.url("/e-bikes"), "content": "good"}]
    site.page("/search", json.dumps({"results": hits}).encode(), "application/json")
    world.workspace.mkdir(parents=True)
    (world.workspace / "todo.md").write_text("- bread\n")
    (world.workspace / "sums.py").write_text("print(1 + 1)\n")
    await world.start()
    world.telegram.say(2, "say:hello")
    await world.answered(2, 1)
    puppet, questioned, requests = Puppet(world), list[str](), 0
    for conversation in day(site):
        if fresh:
            await puppet.say("/new")
        for words, (tool, arguments) in conversation:
            requests += 1
            result = await puppet.use(tool, words, **arguments)
            assert "error: " not in result[:7], (words, result)
            if result.startswith(QUESTION):
                questioned.append(words)
                await puppet.decide(f"/deny {len(questioned)}")
    assert requests == 40
    assert len(questioned) <= MOST_QUESTIONS, questioned
    assert questioned == expected
