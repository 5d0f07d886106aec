"""What an answer shows beyond words: formulas, and pictures of the workspace."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.doubles.openai_server import Answer
from tests.page.conftest import House
from tests.page.test_page import say
from tests.pictures import png

pytestmark = pytest.mark.asyncio(loop_scope="module")
expect.set_options(timeout=45_000)

FORMULAS = r"""Inline $\frac{a}{b}$ and \(x^2\), costs $5 and $6, `$n$`, and alone:

$$
\sum_{i=1}^{n} i = \frac{n(n+1)}{2}
$$

\[ \sqrt{2} \]

Not one: $\frobnicate{$ and <b>bold</b>.
"""


async def test_formulas_are_drawn_and_money_is_not(house: House) -> None:
    async with house.looking("chat/web:formulas") as page:
        house.world.model.script = lambda _: Answer(text=FORMULAS)
        await say(page, "Some formulas, please.")
        await expect(page.get_by_text("and alone:")).to_be_visible()
        house.world.model.script = None
        answer = page.get_by_label("Answer", exact=True)
        await expect(answer.locator("math")).to_have_count(4)
        assert await answer.locator("math mfrac").count() == 2
        await expect(answer.locator(".display math")).to_have_count(2)
        await expect(answer).to_contain_text("costs $5 and $6")
        await expect(answer.locator("code", has_text="$n$")).to_be_visible()
        await expect(answer).to_contain_text("$\\frobnicate{$")
        await expect(answer.locator("b")).to_have_text("bold")


async def test_a_picture_of_the_workspace_is_shown_and_none_from_elsewhere(house: House) -> None:
    folder = house.world.workspace / "my plots"
    folder.mkdir(parents=True)
    (folder / "plot.png").write_bytes(png())
    async with house.looking("chat/web:pictures") as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        text = (
            "say:![The plot](my%20plots/plot.png) ![far](https://evil.test/x.png) "
            "![up](../config.toml) <img src=/api/me> ![it](javascript:alert(1))"
        )
        await say(page, text)
        answer = page.get_by_label("Answer", exact=True)
        picture = answer.locator("img")
        await expect(picture).to_have_count(1)
        await expect(picture).to_have_attribute("alt", "The plot")
        await picture.scroll_into_view_if_needed()
        await page.wait_for_function("() => document.querySelector('.markdown img').naturalWidth")
        await expect(answer.get_by_role("link", name="far")).to_be_visible()
        assert all(url.startswith(house.url) for url in asked)
