"""A bad answer becomes a test case with one press, and a log is saved with the proof of its
chain."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from nanobot.plugins.evals.cases import CaseFile, read_all
from nanobot.plugins.proof.verifying import Proof, verified_file
from tests.page.conftest import House

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)


def cases(house: House) -> list[CaseFile]:
    return read_all(house.world.home / "evals")


async def answered(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(f"say:{text}")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Answer", exact=True).last).to_contain_text(text)


async def test_a_thumb_down_in_a_chat_makes_a_case_and_says_where(house: House) -> None:
    async with house.looking("chat/web:thumbs") as page:
        await answered(page, "It never rains in Bergen")
        await page.get_by_label("Bad answer: make a test case").last.click()
        told = page.get_by_role("status").filter(has_text="The test case is in")
        await expect(told).to_contain_text("/evals/say-it-never-rains-in-bergen-")
    (case,) = [each for each in cases(house) if "bergen" in each.name]
    assert case.case.checks[0].rubric.startswith("A person rejected this answer: ")
    assert house.complaints == []


async def test_the_view_of_a_run_replays_it_and_makes_a_case_too(house: House) -> None:
    async with house.looking("chat/web:cases") as page:
        await answered(page, "Tea is ready")
        await page.get_by_label("Show the run").last.click()
        await page.get_by_role("button", name="Replay", exact=True).click()
        replayed = page.get_by_role("status").filter(has_text="Replayed: ")
        await expect(replayed).to_contain_text("1 steps and 1 of 1 requests are the same")
        await page.get_by_role("button", name="Make a test case").click()
        told = page.get_by_role("status").filter(has_text="The test case is in")
        await expect(told).to_contain_text("tea-is-ready-")
    (case,) = [each for each in cases(house) if "tea" in each.name]
    assert case.case.checks[0].rubric.startswith("The new answer is at least as correct")


async def test_a_conversation_is_saved_with_the_proof_of_its_chain(
    house: House, tmp_path: Path
) -> None:
    async with house.looking("chat/web:proven") as page:
        await answered(page, "Proven")
        await page.get_by_label(re.compile("^Manage .*Proven")).first.click()
        async with page.expect_download() as coming:
            await page.get_by_role("link", name="Export with proof").click()
        file = tmp_path / "log.jsonl"
        await (await coming.value).save_as(file)
    proof: Proof = verified_file(file, None)
    assert (proof.session_key, proof.first) == ("web:proven", 1)
    assert b"Proven" in file.read_bytes()
