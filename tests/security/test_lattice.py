"""The picture and the table of labels say what the policy does."""

from __future__ import annotations

from xml.etree import ElementTree

from nanobot.labels import FROM_OUTSIDE, Privacy, Speaker
from nanobot.plugins.common.policy.policy import Policy
from nanobot.plugins.common.policy.rules import DEFAULTS
from nanobot.tools.verdict import Verdict
from tests.security.lattice import (
    PAGE,
    PICTURE,
    SAID,
    SINKS,
    STEPS,
    picture,
    rows,
    table,
    verdict,
    with_table,
)

LOCAL = ("a file", "a command without network", "a known URL, plain search")


def test_the_page_has_the_table_of_the_policy() -> None:
    page = PAGE.read_text("utf-8")
    assert with_table(page) == page, "run `python -m tests.security.lattice`"
    assert table() in page


def test_the_picture_is_that_of_the_policy() -> None:
    assert PICTURE.read_text("utf-8") == picture(), "run `python -m tests.security.lattice`"
    root = ElementTree.fromstring(picture())
    fields = [element.get("class") for element in root.iter() if element.get("rx") == "3"]
    assert len(fields) == len(SAID) * len(SINKS) * len(STEPS) + 2
    words = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert words >= {*SAID.values(), *STEPS.values()}
    assert "pictures/labels.svg" in PAGE.read_text("utf-8")


def test_every_speaker_and_step_is_in_it() -> None:
    assert set(SAID) == set(Speaker)
    assert set(STEPS) == set(Privacy)
    assert {who for who, _, _ in rows()} == set(SAID.values())


def test_nothing_is_asked_less_for_what_is_higher_in_the_lattice() -> None:
    """More private, or said by others too, never makes a call freer."""
    order = [Verdict.ALLOW, Verdict.ASK, Verdict.DENY]
    for sink in SINKS:
        for speaker in Speaker:
            ranks = [order.index(verdict(speaker, step, sink)) for step in Privacy]
            assert ranks == sorted(ranks), (sink.name, speaker)
            for step in Privacy:
                own = order.index(verdict(Speaker.OWNER, step, sink))
                assert order.index(verdict(speaker, step, sink)) >= own, (sink.name, speaker)


def test_what_came_from_outside_leads_to_no_lasting_or_outward_call_unasked() -> None:
    for sink in SINKS:
        for speaker in FROM_OUTSIDE:
            asked = {verdict(speaker, step, sink) for step in Privacy}
            if sink.name not in LOCAL:
                assert asked == {Verdict.ASK}, (sink.name, speaker)


def test_without_the_rules_about_labels_the_table_would_be_another() -> None:
    """Each rule that looks at a label decides a field of the table."""
    decided = {Policy().judge(sink.call).rule.removeprefix("built-in: ") for sink in SINKS}
    assert decided == {"owners"}
    about = [rule.name for rule in DEFAULTS if rule.when.keys() & {"tainted", "secret", "carries"}]
    assert {"secrets", "private words", "tainted: the network"} <= set(about)
    every = {each for _, _, verdicts in rows() for each in verdicts}
    assert every == {Verdict.ALLOW, Verdict.ASK}
