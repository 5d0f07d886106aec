"""The page, driven as people do it."""

from __future__ import annotations

import asyncio
import re
from itertools import count
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.page.conftest import House, opened
from tests.page.pressing import try_again
from tests.pictures import png

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)

PICTURE = png()
HOSTILE = (
    "say:<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    "<a href=\"javascript:document.title='owned'\">press</a>[link](javascript:alert(1))"
    "<iframe src=//evil.test></iframe><form action=//evil.test><input name=q></form> **bold**"
)
CHAT = "chat/web:lost"
_names = count(1)


def fresh() -> str:
    """A conversation that no other test has."""
    return f"web:test{next(_names)}"


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


async def test_a_link_lets_in_once_and_leaves_the_address(house: House) -> None:
    link = await house.link()
    async with house.looking() as page:
        views = page.get_by_role("navigation", name="Views")
        await page.goto(link)
        await expect(views).to_be_visible()  # whoever leaves before that has used up the link
        assert "login=" not in page.url
        await page.reload()
        await expect(views).to_be_visible()


async def test_whoever_was_not_let_in_sees_how_to_be(house: House) -> None:
    async with house.looking() as page:
        await page.context.clear_cookies()
        await page.reload()
        await expect(page.get_by_text("nanobot dashboard")).to_be_visible()
        await page.get_by_label("Token").fill("wrong")
        await page.get_by_role("button", name="Open").click()
        await expect(page.get_by_role("alert")).to_contain_text("opens nothing")
        house.complaints.clear()  # browsers note each 401


async def test_an_answer_grows_and_stays(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        await say(page, "pace:0.02\nsay:The **first** of many words, and `code`.")
        await expect(page.locator(".growing")).to_be_visible()
        answer = page.get_by_label("Answer", exact=True)
        await expect(answer.locator("strong")).to_have_text("first")
        await expect(page.locator(".growing")).to_have_count(0)
        await page.reload()
        await expect(answer).to_have_count(1)
        await expect(page.locator(".message.person")).to_have_count(1)


async def test_a_run_is_stopped_where_it_grows(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        await say(page, "pace:0.3\nsay:" + "and so on " * 80)
        await page.get_by_role("button", name=re.compile("Stop")).click()
        await expect(page.locator(".growing")).to_have_count(0)
        await expect(page.get_by_text("Cancelled").first).to_be_visible()


async def test_what_a_model_writes_can_do_nothing(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        await say(page, HOSTILE)
        answer = page.get_by_label("Answer", exact=True)
        await expect(answer.locator("strong")).to_have_text("bold")
        assert await answer.locator("img, script, iframe, form, a[href^=javascript]").count() == 0
        assert "owned" not in await page.title()
        assert all(url.startswith(house.url) for url in requests)


async def test_the_policy_holds_even_where_cleaning_failed(house: House) -> None:
    async with house.looking() as page:
        house.complaints.clear()
        await page.evaluate(
            """() => { const made = document.createElement('div');
            made.innerHTML = '<img src="data:," onerror="document.title=1">';
            document.body.append(made);
            const script = document.createElement('script');
            script.textContent = 'document.title = "owned"';
            document.body.append(script); }"""
        )
        await expect(page).not_to_have_title("owned")
        assert any("Content Security Policy" in text for text in house.complaints)
        house.complaints.clear()


async def test_a_call_is_approved_where_it_is_asked(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        await say(page, 'tool:exec:{"command": "git push --force origin main"}\nsay:Pushed.')
        question = page.get_by_label(re.compile(r"^Approval \d+"))
        await expect(question).to_contain_text("git push --force")
        await question.get_by_role("button", name="Deny").click()
        await expect(page.get_by_text("Pushed.", exact=True)).to_be_visible()
        await expect(question).to_have_count(0)
        tool = page.locator(".tool").first
        await tool.locator("summary").click()
        await expect(tool).to_contain_text("Arguments")


async def test_a_question_is_answered_in_own_words(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        await say(page, 'tool:ask_user:{"question": "Which colour?", "choices": ["red", "blue"]}')
        await page.get_by_label("Answer in your own words").fill("a dark green")
        await page.get_by_role("button", name="Answer", exact=True).click()
        await expect(page.locator(".message.answer").last).to_contain_text("a dark green")


async def test_two_tabs_show_the_same_once(house: House) -> None:
    place = f"chat/{fresh()}"
    async with house.looking(place) as first, house.looking(place) as second:
        await say(first, "say:Both of you.")
        for page in (first, second):
            await expect(page.get_by_label("Answer", exact=True)).to_have_count(1)
            await expect(page.locator(".message.person")).to_have_count(1)


async def test_a_lost_connection_is_said_and_taken_up_again(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        await say(page, "say:Before.")
        await expect(page.get_by_label("Answer", exact=True)).to_have_count(1)
        await page.context.set_offline(True)
        await page.evaluate("() => fetch('/healthz').catch(() => 0)")
        await asyncio.sleep(0.5)
        await page.context.set_offline(False)
        await say(page, "say:After.")
        await expect(page.get_by_label("Answer", exact=True)).to_have_count(2)
        house.complaints.clear()  # browsers note what did not arrive


@pytest.mark.parametrize(
    ("view", "lost", "there"),
    [
        ("runs", "**/views/runs.js", "Runs"),
        (CHAT, "**/views/chat/thread.js", "What shall we talk about?"),
    ],
)
async def test_what_could_not_be_loaded_says_so_and_is_had_by_trying_again(
    house: House, view: str, lost: str, there: str
) -> None:
    async with house.looking("schedule") as page:
        await page.route(lost, lambda route: route.abort())
        await page.goto(f"{house.url}/#/{view}")
        await page.reload()  # what the first view had loaded already is not asked for again
        await expect(page.get_by_text("This could not be loaded")).to_be_visible()
        await try_again(page, lost)
        main = page.get_by_role("main")
        await expect(main.get_by_text(there, exact=True)).to_be_visible()
        await expect(page.get_by_text("This could not be loaded")).to_have_count(0)
        house.complaints.clear()  # browsers note what did not arrive


async def test_commands_are_answered_and_still_there_after_a_reload(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        await say(page, "say:Something first.")
        await expect(page.get_by_label("Answer", exact=True)).to_have_count(1)
        await say(page, "/status")
        answer = page.get_by_label("Answer to a command")
        await expect(answer).to_contain_text("Model:")
        await expect(page.locator(".message.sending")).to_have_count(0)
        await page.reload()
        await expect(answer).to_contain_text("Model:")
        await expect(page.locator(".message.person").last).to_contain_text("/status")
        await say(page, "/nosuchthing")
        await expect(answer).to_have_count(2)
        await expect(page.locator(".message.person").last).to_contain_text("/nosuchthing")


async def test_files_go_along_and_pictures_are_shown(house: House, tmp_path: Path) -> None:
    picture, notes = tmp_path / "red.png", tmp_path / "notes.txt"
    picture.write_bytes(PICTURE)
    notes.write_text("Buy bread.")
    async with house.looking(f"chat/{fresh()}") as page:
        await page.locator("input[type=file]").set_input_files([picture, notes])
        await expect(page.locator(".attached li")).to_have_count(2)
        await say(page, "say:I have both.")
        await expect(page.get_by_label("Answer", exact=True)).to_have_count(1)
        shown = page.locator(".message.person img")
        await expect(shown).to_have_count(1)
        await page.wait_for_function(
            "image => image.complete && image.naturalWidth === 1", arg=await shown.element_handle()
        )
        await expect(page.locator(".message.person .file")).to_contain_text("notes")


async def test_conversations_are_found_by_a_word(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        await say(page, "say:A zebra is striped.")
        await expect(page.get_by_label("Answer", exact=True)).to_have_count(1)
        await page.get_by_label("Search conversations").fill("zebra")
        await expect(page.locator(".conversations li")).to_have_count(1)
        await page.get_by_label("Search conversations").fill("no such word at all")
        await expect(page.locator(".conversations li")).to_have_count(0)


async def test_what_was_said_is_edited_and_sent_again(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        await say(page, "say:One.")
        await expect(page.get_by_label("Answer", exact=True)).to_have_count(1)
        await page.locator(".message.person").first.hover()
        await page.get_by_role("button", name="Edit and send again").first.click()
        await expect(page.get_by_label("Message", exact=True)).to_have_value("say:One.")
        await say(page, "say:Two.")
        await expect(page.get_by_text("Two.", exact=True)).to_be_visible()


async def test_a_job_is_scheduled_with_its_next_times_shown(house: House) -> None:
    async with house.looking("schedule") as page:
        await page.get_by_role("button", name="New job").click()
        await page.get_by_label("Task for the assistant").fill("Water the garden")
        await page.get_by_label("When").fill("every blue moon")
        await expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
        await page.get_by_label("When").fill("每个工作日早上8点")
        await expect(page.get_by_text("每个工作日 08:00")).to_be_visible()
        await page.get_by_label("When").fill("every weekday at 8")
        await expect(page.get_by_text("every weekday at 08:00")).to_be_visible()
        await expect(page.locator(".preview li")).to_have_count(5)
        await page.get_by_label("Name").fill("Garden")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("link", name="Garden")).to_be_visible()
        await page.get_by_role("button", name="The coming week").click()
        await expect(page.locator(".week > li")).to_have_count(7)
        await expect(page.locator(".week")).to_contain_text("Garden")
        house.complaints.clear()  # what is no schedule is refused with a 400, which browsers note


async def test_a_file_of_the_prompt_is_edited_in_place(house: House) -> None:
    async with house.looking("memory") as page:
        await page.get_by_role("button", name="Files").click()
        editor = page.get_by_label("USER.md", exact=True)
        await expect(editor).not_to_have_value("")
        await editor.fill("# Who I am\n\nI live in Lisbon.")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("USER.md is saved")).to_be_visible()
    text = (house.world.workspace / "USER.md").read_text("utf-8")
    assert "Lisbon" in text


async def test_files_are_found_read_and_saved(house: House) -> None:
    folder = house.world.workspace / "letters"
    folder.mkdir()
    (folder / "to anna.md").write_text("# Dear Anna\n\nIt is **warm** here.")
    (folder / "evil.html").write_text("<script>document.title = 'owned'</script>")
    async with house.looking("memory") as page:
        await page.get_by_role("button", name="Workspace").click()
        await page.get_by_role("link", name="letters").click()
        await page.get_by_role("button", name="to anna.md").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog.locator("strong")).to_have_text("warm")
        await page.keyboard.press("Escape")
        for name in ("to anna.md", "evil.html"):
            async with page.expect_download() as saving:
                await page.get_by_role("link", name=f"Download {name}").click()
            saved = await (await saving.value).path()
            assert saved.read_bytes() == (folder / name).read_bytes()
        await page.get_by_role("link", name="Workspace").click()
        await expect(page.get_by_role("link", name="letters")).to_be_visible()
        assert await page.title() != "owned"


async def test_a_memory_is_corrected_where_it_stands(house: House) -> None:
    (house.world.workspace / "MEMORY.md").write_text("# Memory\n\n- Anna likes tee.\n- And bred.\n")
    async with house.looking("memory") as page:
        row = page.get_by_role("listitem").filter(has_text="Anna likes")
        await row.get_by_role("button", name="Correct it").click()
        words = page.get_by_role("textbox", name="Correct it")
        await expect(words).to_have_value("Anna likes tee.")
        await words.fill("Anna likes tea.")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Anna likes tea.")).to_be_visible()
        await expect(page.get_by_text("Anna likes tee.")).to_have_count(0)
    text = (house.world.workspace / "MEMORY.md").read_text("utf-8")
    assert text == "# Memory\n\n- Anna likes tea.\n- And bred.\n"


async def test_a_setting_takes_effect_at_once_or_says_that_it_waits(house: House) -> None:
    async with house.looking("settings/keys") as page:
        await page.get_by_label("Search the settings").fill("agent.max_iterations")
        field = page.get_by_label("agent.max_iterations")
        await field.fill("12")
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator(".notice")).to_contain_text("saved and in effect")
        await page.get_by_label("Search the settings").fill("most memories")
        await page.get_by_label("agent.recall_top_k").fill("7")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("waits for a restart: 7")).to_be_visible()
        await page.get_by_role("button", name="Back to the default").click()
        await expect(page.get_by_text("waits for a restart: 7")).to_have_count(0)
    assert "max_iterations = 12" in (house.world.home / "config.toml").read_text("utf-8")


async def test_a_wrong_value_is_told_at_its_field(house: House) -> None:
    async with house.looking("settings/keys") as page:
        await page.get_by_label("Search the settings").fill("max_tokens")
        row = page.locator(".keylist li", has=page.get_by_label("agent.max_tokens"))
        await expect(row).to_contain_text("Longest answer of one model call.")
        await expect(row).to_contain_text("tokens · 1 to 1,000,000 · usually 4096")
        await row.get_by_label("agent.max_tokens").fill("0")
        await row.get_by_role("button", name="Save").click()
        await expect(row.get_by_role("alert")).to_contain_text("1")
        await page.get_by_label("Search the settings").fill("quiet.quiet_from")
        await page.get_by_label("quiet.quiet_from").fill("25:99")
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator(".keylist li [role=alert]")).to_contain_text("quiet")
        house.complaints.clear()  # browsers note what is refused
    assert "25:99" not in (house.world.home / "config.toml").read_text("utf-8")


async def test_inputs_are_as_the_keys_are_declared(house: House) -> None:
    async with house.looking("settings/keys") as page:
        busy = page.get_by_label("agent.when_busy")
        await expect(busy).to_be_visible()
        choices = ["steer", "queue", "collect", "interrupt"]
        assert await busy.locator("option").all_inner_texts() == choices
        yes_or_no = page.get_by_label("memory.enabled", exact=True).locator("option")
        assert await yes_or_no.all_inner_texts() == ["yes", "no"]
        key = page.get_by_label("providers.test.api_key", exact=True)
        assert await key.get_attribute("type") == "password"
        number = page.get_by_label("agent.temperature", exact=True)
        assert await number.get_attribute("type") == "number"
        assert (await number.get_attribute("min"), await number.get_attribute("max")) == ("0", "2")
        await expect(page.get_by_role("heading", name="Budgets", exact=True)).to_be_visible()


async def test_no_secret_reaches_the_page(house: House) -> None:
    async with house.looking("settings/keys") as page:
        await expect(page.get_by_label("channels.telegram.token")).to_be_visible()
        assert house.world.telegram.token not in await page.content()
        answers = await page.evaluate("() => fetch('/api/config/get').then((got) => got.text())")
        assert house.world.telegram.token not in answers


async def test_a_token_is_shown_once_and_revoked(house: House) -> None:
    async with house.looking("settings/access") as page:
        await page.get_by_label("Name").fill("laptop")
        await page.get_by_role("button", name="Make a token").click()
        await expect(page.locator(".token")).not_to_be_empty()
        row = page.locator(".findings li", has_text="laptop")
        await row.get_by_role("button", name="Revoke").click()
        await expect(row).to_have_count(0)


async def test_the_policy_says_which_rule_decides(house: House) -> None:
    async with house.looking("settings/policy") as page:
        await page.get_by_label("Its arguments").fill("git push --force")
        await page.get_by_role("button", name="Ask the policy").click()
        facts = page.locator("form dl")
        await expect(facts).to_contain_text("A person is asked")
        await expect(facts).to_contain_text("command: git push --force")


async def test_the_keyboard_is_enough(house: House) -> None:
    async with house.looking() as page:
        await page.keyboard.press("Control+k")
        await page.keyboard.type("usage")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Usage", exact=True)).to_be_visible()
        await page.keyboard.press("Alt+1")
        await expect(page.get_by_role("heading", name="Chat", exact=True)).to_be_visible()
        await page.keyboard.press("Control+k")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_no_letter_of_a_fast_typist_is_lost_and_the_focus_goes_back(house: House) -> None:
    async with house.looking(f"chat/{fresh()}") as page:
        await page.get_by_label("Message", exact=True).focus()
        focused = await page.evaluate(
            """async () => {
              const press = { key: "k", ctrlKey: true, bubbles: true, cancelable: true };
              document.activeElement.dispatchEvent(new KeyboardEvent("keydown", press));
              await null;  // as far as a browser comes before the next key: nothing is drawn yet
              return document.activeElement.getAttribute("role");
            }"""
        )
        assert focused == "combobox"
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()


async def test_the_first_visit_leads_to_the_first_steps_until_they_are_left(tmp_path: Path) -> None:
    async def bare(home: Path) -> None:
        """Nobody has chosen a model or connected a chat."""
        config = home / "config.toml"
        text = config.read_text("utf-8").replace('model = "test/scripted"', "")
        head, _, rest = text.partition("[channels.telegram]")
        config.write_text(head + rest[rest.index("[web]") :], "utf-8")

    async with opened(tmp_path, bare) as house, house.looking() as page:
        await expect(page.get_by_role("heading", name="Choose a model")).to_be_visible()
        assert page.url.endswith("#/settings/start")
        await page.get_by_role("button", name="Go to the chat at the start").click()
        await expect(page.get_by_role("heading", name="Chat", exact=True)).to_be_visible()
        await page.goto(f"{house.url}/")
        await page.reload()
        await expect(page.get_by_role("heading", name="Chat", exact=True)).to_be_visible()
        await page.wait_for_timeout(300)
        assert "settings" not in page.url
        await page.goto(f"{house.url}/#/settings/start")
        await expect(page.get_by_role("heading", name="Choose a model")).to_be_visible()
        assert house.complaints == []
