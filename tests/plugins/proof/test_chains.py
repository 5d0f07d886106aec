"""The chains of logs are verified in the store."""

from __future__ import annotations

import pytest

from nanobot.errors import StoreCorrupt, UnknownId
from tests.store.home import Home
from tests.store.making import KEY, begun, told


async def test_an_empty_store_has_no_chain_and_no_other_session(home: Home) -> None:
    assert await home.chains().verified("", "") == []
    with pytest.raises(UnknownId, match="there is no session"):
        await home.chains().verified(KEY, "")


async def test_a_chain_is_walked_up_to_its_head_and_a_missing_head_is_told(home: Home) -> None:
    journal, chains = home.journal(), home.chains()
    await begun(journal, "r1")
    (noted,) = await chains.verified("", "")
    await journal.post(KEY, told("news", "p1"))
    (now,) = await chains.verified(KEY, noted.head)
    assert (now.entries, now.head != noted.head) == (noted.entries + 1, True)
    with pytest.raises(StoreCorrupt, match="no log contains"):
        await chains.verified("", "ab" * 32)
