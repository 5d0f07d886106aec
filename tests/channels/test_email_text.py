"""What a mail says, without what mail programs add."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot_channels.email.text import mail_text, plain

HISTORY = [
    "\n\nOn Mon, Jan 5, 2026 at 10:00 AM nanobot <bot@example.org> wrote:\n> earlier\n>\n> words\n",
    "\n\nOn Mon, Jan 5, 2026 at 10:00 AM, a name as long as can be\n<bot@example.org> wrote:\n> a",
    "\n\nAm 05.01.26 um 10:00 schrieb nanobot:\n> earlier",
    "\n\nLe lun. 5 janv. 2026 à 10:00, nanobot a écrit :\n> earlier",
    "\n> earlier\n> words",
    "\n\n-----Original Message-----\nFrom: nanobot\nSent: Monday\nTo: Ann\nSubject: x\n\nearlier",
    "\n\n________________________________\nFrom: nanobot <bot@example.org>\nSent: Monday\n"
    "To: Ann <ann@example.com>\nSubject: x\n\nearlier",
    "\n\nVon: nanobot\nGesendet: Montag, 5. Januar 2026 10:00\nAn: Ann\nBetreff: x\n\nearlier",
    "\n\n发件人: nanobot\n发送时间: 2026年1月5日\n收件人: Ann\n主题: x\n\nearlier",
]
FEET = [
    "",
    "\n-- \nAnn B.\nExample Ltd",
    "\n\nSent from my iPhone",
    "\n\nGesendet von meinem Handy",
]


@pytest.mark.parametrize("history", HISTORY)
@pytest.mark.parametrize("foot", FEET)
def test_history_and_signature_are_left_out(history: str, foot: str) -> None:
    result = mail_text(f"Yes, do that.\n\nAnd the other thing: at 5.{foot}{history}")
    assert result.text == "Yes, do that.\n\nAnd the other thing: at 5."
    assert result.history


def test_a_signature_below_the_history_goes_too() -> None:
    assert mail_text("Yes.\n\nOn 5 Jan, Ann wrote:\n> a\n> b\n\n-- \nAnn").text == "Yes."


def test_answers_between_quotes_keep_them() -> None:
    text = "> When?\n\nAt 5.\n\n> Where?\n\nHere."
    assert mail_text(text).text == text
    assert mail_text(f"{text}\n\n> Who?\n").text == text


@pytest.mark.parametrize(
    "text",
    [
        "> only a quote\n> of two lines",
        "-- \nonly a signature",
        "On 5 Jan 2026, Ann wrote:\n> only history",
        "-----Original Message-----\nFrom: a",
        "From: a\nSent: b\nTo: c\nSubject: d",
        "Sent from my iPhone",
        ">",
    ],
)
def test_what_would_leave_nothing_is_not_taken_away(text: str) -> None:
    assert mail_text(text).text


@pytest.mark.parametrize(
    "text",
    [
        "Look at this list:\n\n- a\n- b",
        "Two dashes:\n--\nand then a long text" + "\nline" * 30,
        "From: the beginning\nI did not know.",
        "See you at 10:\nthe usual place",
    ],
)
def test_what_only_looks_so_stays(text: str) -> None:
    assert mail_text(text).text == text


def test_a_forwarded_mail_is_what_is_meant() -> None:
    text = "FYI\n\n-----Original Message-----\nFrom: Bob\n\nPay 42 EUR"
    assert mail_text(text, forwarded=True).text == text


@given(st.text(alphabet=">-: \nOnwrote1@aFrm", max_size=200))
def test_no_text_becomes_nothing(text: str) -> None:
    assert bool(mail_text(text).text) is bool(text.strip())


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>one</p><p>two<br>three</p>", "one\n\ntwo\nthree"),
        ('<a href="https://example.org/a">here</a>', "here (https://example.org/a)"),
        ('<a href="https://example.org">https://example.org</a>', "https://example.org"),
        ('<a href="mailto:a@b.c">a@b.c</a>', "a@b.c"),
        ('<a href="javascript:x()">here</a>', "here"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n\n- b"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a | b"),
        ("a<blockquote>b</blockquote>", "a\n\n> b"),
        ("<style>x{}</style><script>y()</script>a<!-- b -->", "a"),
        ('<div style="display:none">peek</div>shown', "shown"),
        ("a &amp; b &lt;c&gt;", "a & b <c>"),
        ('<?xml version="1.0" encoding="utf-8"?><p>a</p>', "a"),
        ('<img alt="a cat" src="x">', "a cat"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("", ""),
        ("just text", "just text"),
    ],
)
def test_markup_becomes_text(markup: str, text: str) -> None:
    assert plain(markup).replace("\n\n- ", "\n- ") == text.replace("\n\n- ", "\n- ")


def test_a_history_in_markup_is_left_out() -> None:
    markup = (
        "<div>Yes.</div><br><div class=gmail_quote><div>On Mon, Jan 5, 2026 at 10:00 AM nanobot "
        "&lt;<a href='mailto:bot@example.org'>bot@example.org</a>&gt; wrote:<br></div>"
        "<blockquote><p>earlier</p><p>words</p></blockquote></div>"
    )
    assert mail_text(plain(markup)).text == "Yes."


def test_a_deep_tree_is_read() -> None:
    assert "deep" in plain("<div>" * 5_000 + "deep" + "</div>" * 5_000)


@given(st.text(max_size=300))
def test_any_markup_is_read(markup: str) -> None:
    assert isinstance(plain(markup), str)
    assert "word" in plain(f"<p>word</p>{markup}")
