"""What was said is found, the newest first, by words, beginnings of words and phrases."""

from __future__ import annotations

import asyncio
import string
from collections.abc import AsyncIterator, Sequence

import pytest
import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.plugins.conversations.lists import Filter
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.plugins.search.excerpt import excerpt
from nanobot.plugins.search.hits import SearchHit
from nanobot.plugins.search.query import MOST_CHARS, parsed
from nanobot.plugins.search.store import log_words
from nanobot.plugins.search.store.indexing import LogIndexing
from nanobot.session.entries import SummaryEntry, UserEntry
from nanobot.store.database import schema
from nanobot.store.unit import StoreContext
from nanobot.testing.machine import ManualClock
from tests.store.home import Home, on_sqlite
from tests.store.making import KEY, admit, answered, claim, said, told

OTHER = "telegram:8"


async def talk(home: Home, *texts: str, session: str = KEY, answer: str = "Noted.") -> None:
    """Messages with their answers, a second apart."""
    address = Address("telegram", session.partition(":")[2])
    for text in texts:
        home.clock.advance(1)
        number = home.ids.run_id()
        message = said(text, address=address, key=number)
        await admit(home.journal(), message, session_key=session)
        claimed = await claim(home.journal(), number, session)
        await answered(home.journal(), claimed, answer, address=address)


async def found(
    home: Home, query: str, *, keys: Sequence[str] | None = None, before: int = 0, limit: int = 20
) -> list[SearchHit]:
    return await home.search().search(query, keys=keys, before=before, limit=limit)


async def sentences(home: Home, query: str, keys: Sequence[str] | None = None) -> list[str]:
    return [hit.sentence for hit in await found(home, query, keys=keys)]


async def test_a_word_in_the_middle_of_a_conversation_is_found_with_its_sentence(
    home: Home,
) -> None:
    filler = "This comes before. " * 60
    await talk(home, "Hello", f"{filler}The lighthouse is closed on Mondays. And so on.")
    await talk(home, "What else?", answer="I'd climb another LIGHTHOUSE!", session=OTHER)
    await home.indexing().index()
    newer, older = await found(home, "lighthouse")
    assert (older.before, older.match, older.after) == (
        "The ",
        "lighthouse",
        " is closed on Mondays.",
    )
    assert (older.session_key, older.kind, older.by, older.title) == (
        KEY,
        "user",
        "Somebody",
        "Hello",
    )
    assert (newer.sentence, newer.kind, newer.by) == ("I'd climb another LIGHTHOUSE!", "reply", "")
    assert newer.at > older.at
    entry = next(e for e in await home.entries(KEY) if e.seq == older.seq)
    assert isinstance(entry.body, UserEntry)


@pytest.mark.parametrize(
    ("text", "queries", "misses"),
    [
        (
            "We had two meetings in the cities",
            ["meeting", "MEETINGS", "citi", "cities"],
            ["eting"],
        ),
        ("Crème brûlée für Zoë", ["creme brulee", "ZOE", "für", "fur"], ["brune"]),
        ("我们明天下午三点开会讨论预算", ["明天", "下午三点", "预算", "会"], ["三点半", "昨天"]),
        ("明日の会議は三時からです", ["会議", "三時から", "です"], ["会議室"]),
        ("내일 회의는 세 시에 시작합니다", ["회의", "내일 시작"], ["모레"]),
        ("Поезд прибывает вечером", ["поезд", "прибыв"], ["утром"]),
        ("the order matters here", ['"order matters"', "matters order"], ['"matters order"']),
        ("价格是20欧元,Anna说的", ["20", "Anna", "欧元", '"Anna说"'], ["30"]),
        ("a tea at 9", ["tea at 9", "9"], ["te"]),
    ],
)
async def test_words_of_many_languages_are_found(
    home: Home, text: str, queries: list[str], misses: list[str]
) -> None:
    await talk(home, text)
    await home.indexing().index()
    for query in queries:
        (hit,) = await found(home, query)
        assert hit.match, query
        assert hit.sentence == text, query
    for query in misses:
        assert await found(home, query) == [], query


async def test_all_words_must_be_there_and_nothing_is_found_by_no_word(home: Home) -> None:
    await talk(home, "red apples", "green apples", "red cars")
    await home.indexing().index()
    assert await sentences(home, "apples red") == ["red apples"]
    for nothing in ("", "   ", '""', "?!", '"', "*", "-", "'"):
        assert await found(home, nothing) == []


@pytest.mark.parametrize("query", [*string.punctuation, 'a" OR "b', "NEAR(a b)", "a:*", "a&b|!"])
async def test_no_text_is_a_wrong_query(home: Home, query: str) -> None:
    await talk(home, "a b c")
    await home.indexing().index()
    for words in (query, f"abc{query}", f"{query}abc def{query}", f'"{query}" a'):
        await found(home, words)


async def test_pages_follow_each_other_without_a_gap_or_a_repeat(home: Home) -> None:
    await talk(home, *(f"apple number {number}" for number in range(23)))
    await home.indexing().index()
    pages: list[list[SearchHit]] = []
    before = 0
    while page := await found(home, "apple", before=before, limit=10):
        pages.append(page)
        before = page[-1].id
    assert [len(page) for page in pages] == [10, 10, 3]
    texts = [hit.sentence for page in pages for hit in page]
    assert texts == [f"apple number {number}" for number in reversed(range(23))]


async def test_what_is_said_at_the_same_moment_is_all_found(home: Home) -> None:
    for number in range(150):
        await home.journal().post(KEY, told(f"pear {number}", f"p{number}"))
    await home.indexing().index()
    assert len(await found(home, "pear", limit=200)) == 150


async def test_a_post_is_indexed_without_a_look_at_all_sessions(home: Home) -> None:
    await talk(home, "an apple")
    indexing = home.indexing()
    await indexing.index()
    last = await indexing.last_sent()
    assert await indexing.index_sent(last) == last
    await home.journal().post(KEY, told("a quince", "p"))
    newest = await indexing.index_sent(last)
    assert newest == await indexing.last_sent() == last + 1
    assert await sentences(home, "quince") == ["a quince"]


async def test_only_the_sessions_that_are_asked_for_are_searched(home: Home) -> None:
    await talk(home, "my secret plan")
    await talk(home, "your secret plan", session=OTHER)
    await home.indexing().index()
    assert await sentences(home, "secret", keys=[KEY]) == ["my secret plan"]
    assert await sentences(home, "secret", keys=[KEY, OTHER]) == [
        "your secret plan",
        "my secret plan",
    ]
    assert await sentences(home, "secret", keys=[]) == []
    assert await sentences(home, "secret", keys=["telegram:9"]) == []


async def test_posts_and_summaries_are_found_and_other_entries_are_not(home: Home) -> None:
    await talk(home, "hello", answer="kumquat reply")
    await home.journal().post(KEY, told("kumquat post", "p"))
    number = home.ids.run_id()
    await admit(home.journal(), said("x", key=number))
    claimed = await claim(home.journal(), number)
    summary = SummaryEntry(text="kumquat summary", covers_from=1, upto=2)
    await home.journal().record_result(claimed.lane, claimed.run, [summary])
    await home.indexing().index()
    assert {hit.kind for hit in await found(home, "kumquat")} == {"reply", "post", "summary"}
    assert await found(home, "telegram") == []


async def test_a_heartbeat_is_no_conversation(home: Home) -> None:
    await home.journal().post("heartbeat", told("apple", "p"))
    await home.indexing().index()
    assert await found(home, "apple") == []


async def test_known_secrets_are_neither_found_nor_shown(home: Home) -> None:
    def redact(text: str) -> str:
        return text.replace("hunter2hunter2", "[secret]")

    await talk(home, "the key hunter2hunter2 opens it")
    await home.indexing(redact).index()
    assert await found(home, "hunter2hunter2") == []
    (hit,) = await home.search(redact).search("opens", keys=None, before=0, limit=5)
    assert hit.sentence == "the key [secret] opens it"


async def test_what_was_erased_is_not_found_and_does_not_come_back(home: Home) -> None:
    await talk(home, "the word is abracadabra", "and something else")
    indexing = home.indexing()
    part = await indexing._unindexed(KEY)
    assert part is not None
    await home.eraser().erase(KEY, 1, "me")
    assert await indexing._keep(part, indexing._indexed(part))
    assert await found(home, "abracadabra") == []
    assert len(await found(home, "something")) == 1
    await home.eraser().erase(KEY, (await found(home, "something"))[0].seq, "me")
    await indexing.index()
    assert await found(home, "something") == []
    await talk(home, "another")
    await indexing.index()
    assert await found(home, "another")
    await home.eraser().delete(KEY)
    assert await home.rows("SELECT * FROM log_words") == []
    assert await home.rows("SELECT * FROM indexed_logs") == []
    assert await home.rows("SELECT * FROM erasures") == []


async def test_a_session_that_begins_anew_is_indexed_from_its_first_entry(home: Home) -> None:
    await talk(home, "before", "before", "before")
    await home.indexing().index()
    await home.eraser().delete(KEY)
    await talk(home, "afterwards")
    await home.indexing().index()
    assert len(await found(home, "afterwards")) == 1


async def test_indexing_goes_on_where_it_was_killed_and_indexes_nothing_twice(home: Home) -> None:
    await talk(home, *(f"apple {number}" for number in range(40)))
    indexing = home.indexing()
    part = await indexing._unindexed(KEY)
    assert part is not None
    assert len(part.entries) == log_words.ENTRIES_AT_ONCE
    assert await indexing._keep(part, indexing._indexed(part))
    some = len(await found(home, "apple", limit=100))
    assert 0 < some < 40
    await home.reopen()
    assert not await home.indexing()._keep(part, indexing._indexed(part))
    await home.indexing().index()
    assert len(await found(home, "apple", limit=100)) == 40


async def test_two_that_index_at_once_index_nothing_twice(home: Home) -> None:
    for number in range(6):
        await talk(home, *(["apple pie"] * 10), session=f"telegram:{number}")
    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(home.indexing().index())
    assert len(await found(home, "apple", limit=100)) == 60


async def test_an_entry_that_cannot_be_read_hides_no_other(home: Home) -> None:
    await talk(home, "apple one", "apple two")
    home.damaged = frozenset({KEY})
    await home.do(
        lambda c: c.execute(
            sa.update(schema.entries).where(schema.entries.c.seq == 1).values(payload=b"nonsense")
        ).close()
    )
    await home.indexing().index()
    assert await sentences(home, "apple") == ["apple two"]


async def test_a_very_long_message_is_found_once_by_words_anywhere_in_it(home: Home) -> None:
    words = " ".join(f"word{number}" for number in range(18_000))
    chinese = "".join(chr(0x4E00 + number % 5_000) for number in range(40_000))
    await talk(home, f"{words} lastword", f"{chinese}最后一句", "x" * (MOST_CHARS + 10))
    await home.indexing().index()
    for query in ("word17", "lastword", "word12345", "最后一句"):
        assert len(await found(home, query)) == 1, query
    (hit,) = await found(home, "lastword")
    assert hit.match == "lastword"
    assert len(hit.sentence) < 400


async def test_absurd_times_are_indexed_too(home: Home) -> None:
    await talk(home, "apple one", "apple two", "apple three")
    for seq, at in ((1, -1e18), (3, 1e300)):
        await home.execute("UPDATE entries SET at = :at WHERE seq = :s", at=at, s=seq)
    home.damaged = frozenset({KEY})
    await home.indexing().index()
    assert len(await found(home, "apple")) == 3


async def test_lists_find_sessions_by_what_was_said(home: Home) -> None:
    await talk(home, "hello", "the lighthouse is closed")
    await talk(home, "hello again", session=OTHER)
    await home.indexing().index()
    conversations, messages = home.conversations(), home.search()
    (row,) = await conversations.listed(Filter(find="lighthouse"), messages, limit=9)
    assert (row.key, row.found) == (KEY, "the lighthouse is closed")
    rows = await conversations.listed(Filter(find="hello"), messages, limit=9)
    assert {row.key for row in rows} == {KEY, OTHER}
    (row,) = await conversations.listed(Filter(find="hello", keys=(OTHER,)), messages, limit=9)
    assert row.key == OTHER


@on_sqlite
async def test_the_index_gives_a_page_without_sorting_all_that_fits(home: Home) -> None:
    await talk(home, "apple")
    await home.indexing().index()
    plan = await _plan(home, f"EXPLAIN QUERY PLAN {log_words._SQLITE}{log_words._SQLITE_END}")
    assert "log_words_fts VIRTUAL TABLE INDEX" in plan[0]
    assert not any("TEMP B-TREE" in step or step.startswith("SCAN e") for step in plan), plan


async def _plan(home: Home, query: str) -> list[str]:
    values = {"q": '"apple"', "before": 2**62, "n": 10}
    return await home.do(lambda c: [row[3] for row in c.execute(sa.text(query), values).all()])


@pytest.mark.parametrize(
    ("text", "query", "sentence"),
    [
        ("One. Two has it! Three?", "it", "Two has it!"),
        ("第一句。第二句有苹果！第三句。", "苹果", "第二句有苹果！"),
        ("Versions 3.11 and 3.12 are out. Others not.", "out", "Versions 3.11 and 3.12 are out."),
        ("line one\nline two\nline three", "two", "line two"),
        (
            "it is here.\nAnd apples are here, it says.",
            "it apples",
            "And apples are here, it says.",
        ),
        ("no such word " * 40, "absent", f"{('no such word ' * 40)[:180]}…"),
    ],
)
def test_the_sentence_around_the_words_is_shown(text: str, query: str, sentence: str) -> None:
    assert "".join(excerpt(text, parsed(query))) == sentence


def test_of_a_sentence_without_end_a_part_is_shown() -> None:
    begin, match, end = excerpt("x " * 500 + "needle" + " y" * 500, parsed("needle"))
    assert begin.startswith("…")
    assert match == "needle"
    assert end.endswith("…")
    assert len(begin + end) < 310


class Looked(LogIndexing):
    """Which looks there were."""

    def __init__(self, home: Home) -> None:
        clock = ManualClock(instant=False)
        super().__init__(home.database, StoreContext(clock, home.ids, "indexer"), str)
        self.clock, self.looks = clock, list[str]()

    async def last_sent(self) -> int:
        return 0

    async def _all_behind(self) -> AsyncIterator[str]:
        self.looks.append("all")
        for none in list[str]():
            yield none

    async def index_sent(self, last: int) -> int:
        self.looks.append(f"after {last}")
        return last + 1


async def test_all_sessions_are_looked_at_at_first_and_what_was_sent_in_between(
    new_home: Home,
) -> None:
    """Another process may have said something."""
    looked, bus = Looked(new_home), MessageBus()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(looked._look_often(bus))
        for _ in range(100):
            for _turn in range(8):
                await asyncio.sleep(0)
            looked.clock.advance(5.0)
        running.cancel()
    assert looked.looks[:3] == ["all", "after 0", "after 1"]
    assert looked.looks.count("all") == 2
