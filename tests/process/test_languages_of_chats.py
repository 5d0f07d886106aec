"""What nanobot itself says in a chat is in the language of its people, and everything else is not
touched."""

from __future__ import annotations

import json
import re

from tests.doubles.openai_server import error_status
from tests.process.harness import World

OWNER, MEMBER, GROUP = 1, 101, -1001
EXAMPLE = re.compile(r"cron add every .*Check the builds")
ENGLISH = re.compile(r"[A-Za-z]{3,} [A-Za-z]{3,} [A-Za-z]{3,}")
"""Three English words in a row."""


async def heard(world: World, chat: int, text: str, *, sender: int | None = None) -> str:
    """What the bot answers there."""
    before = len(world.texts(chat))
    world.telegram.say(chat, text, sender=sender)
    await world.answered(chat, before + 1)
    return world.texts(chat)[before]


async def test_a_persons_own_language_decides_and_another_one_has_english(world: World) -> None:
    world.telegram.languages = {OWNER: "zh-hans", MEMBER: "en"}
    await world.start()
    chinese, english = await heard(world, OWNER, "/help"), await heard(world, MEMBER, "/help")
    assert "像对人说话一样写给我。最常用的命令：" in chinese
    assert "/new: 开始新的对话" in chinese.replace("：", ": ")
    assert not ENGLISH.search(chinese), chinese
    assert english.startswith("Write to me as you would to a person.")
    for command in ("/status", "/runs", "/cron", "/usage", "/help cron add", "/nothing", "/new"):
        answer = EXAMPLE.sub("", await heard(world, OWNER, command))
        assert re.search(r"[\u4e00-\u9fff]", answer), answer
        assert not ENGLISH.search(answer), answer
    assert (await heard(world, MEMBER, "/cron")).startswith("Nothing found.")


async def test_a_failed_run_is_told_in_chinese_and_recorded_in_english(world: World) -> None:
    world.telegram.languages = {OWNER: "zh-hans", MEMBER: "en"}
    await world.start()
    refused = error_status(401, "Incorrect API key provided")
    world.model.fail_with(refused)
    assert (await heard(world, OWNER, "say:hello")).startswith("我无法回答：")
    world.model.fail_with(refused)
    assert (await heard(world, MEMBER, "say:hello")).startswith("I could not answer")
    bodies = world.rows("SELECT payload FROM entries WHERE kind = 'failed'")
    assert len(bodies) == 2
    assert all(b"I could not answer" in bytes(body) for (body,) in bodies)
    assert b"I could not answer" in bytes(
        world.rows("SELECT body FROM outbound WHERE chat_id = '1'")[-1][0]
    )


async def test_what_people_and_models_write_is_never_translated(world: World) -> None:
    world.telegram.languages = {OWNER: "zh-hans"}
    await world.start()
    for text in ("Stopped.", "Nothing found.", "not running", "Approve"):
        assert await heard(world, OWNER, f"say:{text}") == text
    await heard(world, OWNER, "/sessions rename Nothing found.")
    assert "Nothing found." in await heard(world, OWNER, "/sessions")


async def test_a_question_and_its_decision_are_in_the_language_of_each_chat(world: World) -> None:
    world.telegram.languages = {OWNER: "zh-hans", MEMBER: "en"}
    await world.start()
    await heard(world, OWNER, "say:hello")
    command = json.dumps({"command": "rm -rf *; echo There is no run"})
    question = await heard(world, MEMBER, f"tool:exec:{command}\nsay:it is done")
    assert question.startswith("May I do this? (#1)")
    assert "The owners are asked in their own chats." in question
    await world.answered(OWNER, 2)
    asked = world.telegram.messages(OWNER)[-1]
    assert asked.text.startswith("我可以这样做吗？（#1）"), asked.text
    assert "rm -rf *; echo There is no run" in asked.text
    assert "如果在" in asked.text
    world.telegram.press(asked, "批准")
    await world.telegram.until(lambda: "it is done" in world.texts(MEMBER))
    await world.telegram.until(
        lambda: any("由 Person 1 批准" in message for message in world.texts(OWNER))
    )
    assert any("Approved by Person 1" in message for message in world.texts(MEMBER))


async def test_a_person_chooses_another_language_and_keeps_it_over_a_restart(world: World) -> None:
    world.telegram.languages = {OWNER: "zh-hans"}
    gateway = await world.start()
    assert "由 /language 选定" in await heard(world, OWNER, "/language zh")
    assert "as chosen with /language" in await heard(world, OWNER, "/language en")
    assert await gateway.stop() == 0
    await world.start()
    assert (await heard(world, OWNER, "/help")).startswith("Write to me")
    assert "按平台报告" in await heard(world, OWNER, "/language auto")
    assert "Only owners" in await heard(world, MEMBER, "/language zh chat=telegram:1")


async def test_a_group_has_one_language_whoever_writes(world: World) -> None:
    world.telegram.languages = {OWNER: "zh-hans", MEMBER: "en"}
    await world.start()
    assert "像对人说话一样" in await heard(world, GROUP, "/help", sender=OWNER)
    assert "像对人说话一样" in await heard(world, GROUP, "/help", sender=MEMBER)
    await heard(world, GROUP, "/language en", sender=MEMBER)
    assert (await heard(world, GROUP, "/help", sender=OWNER)).startswith("Write to me")


async def test_the_configuration_decides_where_the_platform_says_nothing(world: World) -> None:
    world.configure(more='[language]\ndefault = "zh"\n')
    world.telegram.languages = {MEMBER: "en"}
    await world.start()
    assert "像对人说话一样" in await heard(world, OWNER, "/help")
    assert (await heard(world, MEMBER, "/help")).startswith("Write to me")
    stranger = await heard(world, 999, "hello")
    assert stranger.startswith("这个助手是私人的。你的配对码是"), stranger
    assert re.search(r"有效期 \d+ 小时|1 小时", stranger)


async def test_a_new_job_its_times_and_the_question_for_a_zone_are_in_chinese(
    world: World,
) -> None:
    world.telegram.languages = {OWNER: "zh-hans"}
    await world.start()
    added = await heard(world, OWNER, "/cron add every day at 09:00 Check the builds")
    job, _, question = added.partition("\n")
    assert re.fullmatch(
        r"任务 #1（Check the builds）启用：every day at 09:00（UTC）。接下来：.*。", job
    ), job
    assert question.startswith("时间按 UTC 计算，因为我不知道您所在的时区。"), question
    listed = await heard(world, OWNER, "/cron")
    assert "启用" in listed
    assert "active" not in listed
    paused = await heard(world, OWNER, "/cron pause 1")
    assert "已暂停" in paused
    assert "Check the builds" in paused


async def test_units_in_the_usage_are_in_chinese(world: World) -> None:
    world.configure(more="[budgets]\ntokens_per_day = 100000\n")
    world.telegram.languages = {OWNER: "zh-hans"}
    await world.start()
    await heard(world, OWNER, "say:hello")
    used = await heard(world, OWNER, "/usage")
    assert re.search(r"1 次模型请求，输入 [\d,]+ 个 token，输出 \d+ 个", used), used
    assert re.search(r"共 100,000 个 token", used), used
    assert re.search(r"到 [-\d]+ 00:00 \(UTC\) 为止还剩：", used), used


async def test_a_remark_on_a_run_is_in_chinese_and_quotes_the_answer(world: World) -> None:
    world.telegram.languages = {OWNER: "zh-hans"}
    await world.start()
    await heard(world, OWNER, "say:I've sent the email to Claire.")
    ((run,),) = world.rows("SELECT id FROM runs")
    shown = await heard(world, OWNER, f"/runs show {run}")
    assert "回答称“I've sent the email to Claire.”（已发送）" in shown, shown


async def test_the_terminal_speaks_the_language_of_its_environment(world: World) -> None:
    await world.start()
    told = await world.run("agent", "--session", "cli:zh", stdin=b"/status\n", LANG="zh_CN.UTF-8")
    assert told.code == 0
    assert re.search(r"[\u4e00-\u9fff]", told.output), told.output
    told = await world.run("agent", "--session", "cli:en", stdin=b"/status\n", LANG="C.UTF-8")
    assert not re.search(r"[\u4e00-\u9fff]", told.output), told.output


async def test_the_language_of_a_chat_goes_with_its_conversation(world: World) -> None:
    world.telegram.languages = {OWNER: "zh-hans", MEMBER: "zh-hans"}
    await world.start()
    await heard(world, OWNER, "/language en")
    await heard(world, MEMBER, "say:hello")
    known = "SELECT chat FROM language_chats ORDER BY chat"
    assert world.rows(known) == [("telegram:1",), (f"telegram:{MEMBER}",)]
    gone = await world.run("sessions", "delete", f"telegram:{MEMBER}", "--yes")
    assert gone.code == 0, gone.errors
    assert world.rows(known) == [("telegram:1",)]


async def test_a_group_that_gets_another_id_keeps_its_language(world: World) -> None:
    old, new = -5, -1_000_005
    world.telegram.languages = {OWNER: "en", MEMBER: "en"}
    await world.start()
    world.telegram.say(old, "@nano_bot /language zh", sender=OWNER)
    assert "由 /language 选定" in (await world.answered(old))[0]
    await world.acknowledged(world.telegram.say(new, "", migrate_from_chat_id=old))
    world.telegram.say(new, "@nano_bot /language", sender=MEMBER)
    assert "由 /language 选定" in (await world.answered(new))[0]
