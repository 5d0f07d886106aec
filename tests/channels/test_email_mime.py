"""Mails of every shape: what is in them is found, and nothing stops the reader."""

from __future__ import annotations

import base64
import binascii
from email.message import EmailMessage
from email.policy import SMTP

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.messages import Attachment
from nanobot_channels.email.headers import all_headers, header, text_of, words
from nanobot_channels.email.mime import Mail, MailScanner, decoded, pieces, texts
from nanobot_channels.email.reading import MessageIds, Reader, ReadMail, files
from nanobot_channels.email.receiving import place_of
from tests.doubles.mail_server import AUTHSERV, letter

STAMP = MessageIds("bot@example.org", "secret")
READER = Reader("email", "bot@example.org", [AUTHSERV], STAMP)


def scanned(raw: bytes, size: int = 10_000) -> Mail:
    skim = MailScanner()
    for start in range(0, len(raw), size):
        skim.feed(raw[start : start + size])
    return skim.mail()


def read_text(raw: bytes) -> str:
    result = READER.read(scanned(raw), "1:1", 1_000.0)
    assert isinstance(result, ReadMail), result
    return result.message.text


def content(raw: bytes, file: Attachment) -> bytes:
    """As the channel fetches it."""
    _, _, start, end, encoding = place_of(file.ref)
    return decoded(raw[start:end], encoding)


def rich_mail() -> EmailMessage:
    mail = EmailMessage(policy=SMTP)
    mail["Subject"] = "Zürich"
    mail.set_content("The plain version, schön.\n")
    mail.add_alternative("<p>The <b>HTML</b> version</p>", subtype="html")
    mail.add_attachment(b"\x89PNG" * 40, maintype="image", subtype="png", filename="größe.png")
    mail.add_attachment("a,b\n1,2\n", subtype="csv", filename="t.csv")
    return mail


def test_text_and_files_are_found_whatever_the_pieces() -> None:
    raw = rich_mail().as_bytes()
    whole = scanned(raw)
    for size in (1, 7, 1_000):
        assert scanned(raw, size).parts[0].body == whole.parts[0].body
        assert [(part.start, part.end) for part in scanned(raw, size).parts] == [
            (part.start, part.end) for part in whole.parts
        ]
    assert [part.text().strip() for part in texts(whole)] == ["The plain version, schön."]
    image, table = files(whole, "7:3")
    assert (image.kind, image.name, image.mime) == ("image", "größe.png", "image/png")
    assert content(raw, image) == b"\x89PNG" * 40
    assert (table.kind, table.name) == ("document", "t.csv")
    assert content(raw, table).replace(b"\r\n", b"\n") == b"a,b\n1,2\n"
    assert abs(image.size - 160) < 10


@pytest.mark.process
def test_a_mail_of_fifty_megabytes_is_not_kept() -> None:
    skim = MailScanner()
    skim.feed(b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nsee the file\r\n')
    skim.feed(b"--b\r\nContent-Type: video/mp4\r\nContent-Transfer-Encoding: base64\r\n\r\n")
    line = base64.encodebytes(bytes(57)).replace(b"\n", b"\r\n") * 1_000
    for _ in range(640):
        skim.feed(line)
    skim.feed(b"\r\n--b--\r\n")
    mail = skim.mail()
    assert mail.size > 49_000_000
    assert sum(len(part.body) for part in mail.parts) < 100_000
    text, video = mail.parts
    assert text.text() == "see the file"
    assert video.end - video.start == 640 * len(line)


def test_one_line_without_an_end_is_not_kept_either() -> None:
    skim = MailScanner()
    skim.feed(b"Content-Type: text/plain\r\n\r\n")
    for _ in range(30):
        skim.feed(b"x" * 100_000)
    (part,) = skim.mail().parts
    assert part.end - part.start == 3_000_000
    assert len(part.body) == 1_000_000
    assert part.cut


@pytest.mark.parametrize(
    ("body", "text"),
    [
        # No boundary ever comes.
        (b'Content-Type: multipart/mixed; boundary="x"\r\n\r\nhello there\r\n', "hello there"),
        (b"Content-Type: multipart/mixed\r\n\r\nhello there\r\n", "hello there"),
        # It is never closed.
        (b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nhello there", "hello there"),
        # The inner one is not closed, the outer one is.
        (
            b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n"
            b"Content-Type: multipart/alternative; boundary=y\r\n\r\n--y\r\n\r\nhello there\r\n"
            b"--x--\r\n",
            "hello there",
        ),
        (b"Content-Type: nonsense\r\n\r\nhello there", "hello there"),
        (b"Content-Type: text/plain; charset=no-such\r\n\r\nhello there", "hello there"),
        (b"Content-Type: text/plain; charset=idna\r\n\r\nhell\xf6 there", "hellö there"),
        (b"Content-Type: text/plain; charset=punycode\r\n\r\nhello there-", "hello there-"),
        (b"Content-Type: text/plain; charset=Unicode-Escape\r\n\r\nhell\\x6f", "hell\\x6f"),
        (b"Content-Type: text/plain; charset=us-ascii\r\n\r\nhell\xc3\xb6", "hellö"),
        (b"Content-Transfer-Encoding: base64\r\n\r\naGVsbG8gdGhlcmU", "hello there"),
        (b"Content-Transfer-Encoding: base64\r\n\r\naGVsbG8g!!dGhlcmU=\r\n-- list", "hello there"),
        (
            b"Content-Transfer-Encoding: quoted-printable\r\n\r\nhell=C3=B6=\r\n there",
            "hellö there",
        ),
        (b"Content-Transfer-Encoding: of-my-own\r\n\r\nhello there", "hello there"),
        (b"Content-Type: text/html\r\n\r\n<p>hello<br>there</p>", "hello\nthere"),
        (b"\r\nhello there", "hello there"),
        (b"this is no header\r\n\r\nhello there", "this is no header\n\nhello there"),
    ],
)
def test_what_is_malformed_is_read_all_the_same(body: bytes, text: str) -> None:
    result = read_text(letter(body=body))
    assert result.startswith(text) or text in result


def test_an_empty_plain_version_leaves_the_other_one() -> None:
    mail = EmailMessage(policy=SMTP)
    mail.set_content(" \n")
    mail.add_alternative('<a href="https://example.org/x">look</a>', subtype="html")
    assert read_text(letter(body=mail.as_bytes())) == "look (https://example.org/x)"


def test_a_forwarded_mail_is_a_file_with_a_name() -> None:
    inner = EmailMessage(policy=SMTP)
    inner["Subject"] = "The bill"
    inner.set_content("42 EUR")
    mail = EmailMessage(policy=SMTP)
    mail.set_content("Please pay.")
    mail.add_attachment(inner)
    (file,) = files(scanned(mail.as_bytes()), "1:1")
    assert (file.name, file.mime) == ("The bill.eml", "message/rfc822")
    assert b"42 EUR" in content(mail.as_bytes(), file)


def test_thousands_of_parts_are_not_read() -> None:
    many = b"--x\r\n\r\na\r\n" * 5_000
    mail = scanned(b"Content-Type: multipart/mixed; boundary=x\r\n\r\n" + many)
    assert len(mail.parts) == 200


def test_a_mail_with_more_parts_than_are_read_says_so() -> None:
    head = b"Content-Type: multipart/mixed; boundary=x\r\n\r\n"
    note = "[cut here: only 200 parts of a mail are read]"
    for parts, cut in ((200, False), (201, True)):
        text = read_text(letter(body=head + b"--x\r\n\r\na\r\n" * parts + b"--x--\r\n"))
        assert text.endswith(note) is cut


@pytest.mark.parametrize(
    "kind",
    [
        "application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m",
        "application/x-pkcs7-mime; smime-type=signed-data",
        "multipart/encrypted; protocol=application/pgp-encrypted; boundary=x",
    ],
)
def test_a_mail_that_only_its_recipient_can_open_says_so(kind: str) -> None:
    body = b"MIAGCSqGSIb3\r\n"
    if "boundary" in kind:
        inner = b"Content-Type: application/pgp-encrypted\r\n\r\nVersion: 1\r\n"
        data = b"Content-Type: application/octet-stream; name=a.asc\r\n\r\n-----BEGIN\r\n"
        body = b"--x\r\n" + inner + b"--x\r\n" + data + b"--x--\r\n"
    mail = f"Content-Type: {kind}\r\n\r\n".encode() + body
    text = read_text(letter(body=mail))
    assert "[the text of this mail is encrypted or sealed, and cannot be read]" in text


def test_a_deep_nest_is_not_followed_to_its_end() -> None:
    nest = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(500)
    )
    assert read_text(letter(body=nest + b"\r\nhello"))


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("=?utf-8?q?J=C3=BCrgen?=", "Jürgen"),
        ("=?utf-8?b?SsO8cmdlbg==?= =?iso-8859-1?q?_M=FCller?=", "Jürgen Müller"),
        ("=?no-such?q?J=FCrgen?=", "Jürgen"),
        ("=?utf-8?b?!!!?=", "=?utf-8?b?!!!?="),
        ("plain", "plain"),
    ],
)
def test_names_are_decoded_as_far_as_they_can_be(raw: str, name: str) -> None:
    assert words(raw) == name


@given(st.binary(max_size=2_000), st.sampled_from(["base64", "quoted-printable", "8bit"]))
def test_what_comes_in_pieces_is_decoded_as_in_one(data: bytes, encoding: str) -> None:
    encoded = {
        "base64": base64.encodebytes(data),
        # Not as text: ends of lines that stand as they are may come out as others.
        "quoted-printable": binascii.b2a_qp(data, istext=False),
        "8bit": data,
    }[encoding]
    for size in (1, 3, 50, 5_000):
        more = pieces(encoding)
        got = b"".join(
            more(encoded[start : start + size], start + size >= len(encoded))
            for start in range(0, len(encoded), size)
        )
        assert got == data


LINES = st.sampled_from(
    [
        b"From: ann@example.com",
        b"Subject: =?utf-8?b?w?= \xff",
        b"Content-Type: multipart/mixed; boundary=x",
        b'Content-Type: multipart/alternative; boundary="y',
        b"Content-Type: multipart/report; report-type=delivery-status; boundary=x",
        b"Content-Type: message/delivery-status",
        b"Content-Type: text/html; charset=\"'utf-7",
        b"Content-Type: text/plain; charset*0*=utf-8''%ff; charset*x=1",
        b"Content-Disposition: attachment; filename*=utf-8'en'%e2%82; filename*1=b",
        b"Content-Transfer-Encoding: base64",
        b"Content-Transfer-Encoding: x-uuencode",
        b"Message-ID: <a@b> <c@d>",
        b"References: <<<>>> <x\x00y@z>",
        b"Date: Tue, 99 Foo 20000 99:99:99 +9999",
        b"--x",
        b"--x--",
        b"--y",
        b"",
        b" folded",
        b"<table><blockquote>a<td>b</table>",
        b"> quoted",
        b"On Monday 3, Ann wrote:",
        b"-- ",
        b"\xff\xfe\x00",
        b"aGVsbG8=",
    ]
)


@given(st.lists(LINES | st.binary(max_size=60), max_size=40), st.sampled_from([b"\n", b"\r\n"]))
def test_no_bytes_stop_the_reader_and_no_text_becomes_nothing(
    lines: list[bytes], ending: bytes
) -> None:
    raw = letter(body=ending.join(lines))
    mail = scanned(raw, 33)
    result = READER.read(mail, "1:1", 1_000.0)
    for part in mail.parts:
        assert 0 <= part.start <= part.end <= len(raw)
        assert isinstance(part.text(), str)
    if isinstance(result, ReadMail):
        message = result.message
        assert message.dedupe_key
        assert message.address.thread_id
        bodies = [part for part in texts(mail) if part.type == "text/plain" and part.text().strip()]
        assert message.text or not bodies


@given(st.binary(max_size=500), st.text(max_size=30))
def test_charsets_never_fail(data: bytes, charset: str) -> None:
    assert isinstance(text_of(data, charset), str)


def test_a_header_is_one_line_and_the_first_counts() -> None:
    mail = scanned(b"Subject: a\r\n b\r\nSubject: c\r\n\r\n")
    assert header(mail.headers, "subject") == "a b"
    assert all_headers(mail.headers, "Subject") == ["a b", "c"]
