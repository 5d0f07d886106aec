"""Hands a mail to the SMTP server, and reports the exact outcome."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPException,
    SMTPResponseException,
    SMTPServerDisconnected,
)

from nanobot.errors import BadCredentials, ChannelDown, ChatGone, NotSent, OutcomeUnknown, Refused
from nanobot_channels.email.settings import Server

_SECONDS = 60.0
# RFC 5321 (4.5.3.2.6) demands ten minutes for the response to the last dot.
_VERDICT_SECONDS = 600.0
_PIECE = 64 * 1024
_WRITING_SECONDS = 0.01
_DOTS = re.compile(rb"(?m)^\.")
_NEWLINES = re.compile(rb"\r\n|\r|\n")
_START_INPUT = 354
_STORAGE_FULL = 552


@asynccontextmanager
async def connected(outbox: Server) -> AsyncIterator[SMTP]:
    """A connection, logged in. With TLS settings it is encrypted from the first byte on port 465,
    and by STARTTLS elsewhere. Raises BadCredentials or ChannelDown."""
    whole = outbox.tls is not None and outbox.port == 465
    client = SMTP(
        hostname=outbox.host,
        port=outbox.port,
        use_tls=whole,
        start_tls=outbox.tls is not None and not whole,
        tls_context=outbox.tls,
        timeout=_SECONDS,
        local_hostname=outbox.address.rpartition("@")[2],
    )
    where = f"{outbox.host}:{outbox.port}"
    try:
        await client.connect()
        if client.is_ehlo_or_helo_needed:
            await client.ehlo()
        if client.server_auth_methods:  # a relay on this machine may need no login
            await client.login(outbox.user, outbox.password)
    except SMTPAuthenticationError as error:
        client.close()
        raise _refused(outbox, error) from error
    except (SMTPException, OSError, ValueError) as error:
        client.close()
        raise ChannelDown(f"no connection to {where}: {_line(str(error))}{_hint(error)}") from error
    try:
        yield client
        with suppress(SMTPException, OSError):
            await client.quit()
    finally:
        client.close()


def _refused(outbox: Server, error: SMTPAuthenticationError) -> Exception:
    text = f"{outbox.host} refuses the login of {outbox.user}: {error.code} {_line(error.message)}"
    if error.code < 500:
        return ChannelDown(text)
    return BadCredentials(
        f"{text}. Check channels.{outbox.name}.user and channels.{outbox.name}.password; many "
        "providers want an app password"
    )


def _hint(error: BaseException) -> str:
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, ssl.SSLCertVerificationError):
            return (
                ". Its certificate is not to be trusted; for a private certificate authority, "
                "set SSL_CERT_FILE"
            )
        if isinstance(chain, ssl.SSLError):
            return ". smtp_port must be 465 (TLS at once) or one with STARTTLS, usually 587"
        chain = chain.__cause__ or chain.__context__
    return ""


async def hand_over(outbox: Server, recipient: str, mail: bytes) -> None:
    """Send one mail once.

    Raises NotSent if it cannot have been accepted, Refused for this mail, ChatGone for this
    address, and OutcomeUnknown if the server had the last byte and did not answer.
    """
    try:
        async with connected(outbox) as client:
            await _envelope(client, outbox.address, recipient)
            await _content(client, mail)
    except BadCredentials as error:
        raise NotSent(str(error), scope="bot") from error
    except ChannelDown as error:
        raise NotSent(str(error)) from error


async def _envelope(client: SMTP, sender: str, recipient: str) -> None:
    try:
        await client.mail(sender)
        await client.rcpt(recipient)
        answer = await client.execute_command(b"DATA")
    except SMTPResponseException as error:
        raise _failure(error, recipient) from error
    except (SMTPException, OSError) as error:
        raise NotSent(f"the mail server went away: {_line(str(error))}") from error
    if answer.code != _START_INPUT:
        raise _failure(SMTPResponseException(answer.code, answer.message), recipient)


async def _content(client: SMTP, mail: bytes) -> None:
    """Send the mail's bytes, and only then the dot that completes them."""
    protocol, transport = client.protocol, client.transport
    whole = _DOTS.sub(b"..", _NEWLINES.sub(b"\r\n", mail))
    whole += b"" if whole.endswith(b"\r\n") else b"\r\n"
    try:
        if protocol is None or not isinstance(transport, asyncio.WriteTransport):
            raise SMTPServerDisconnected("not connected")
        for start in range(0, len(whole), _PIECE):
            protocol.write(whole[start : start + _PIECE])
            async with asyncio.timeout(_SECONDS):
                while transport.get_write_buffer_size() > _PIECE:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(_WRITING_SECONDS)
    except (SMTPException, OSError) as error:
        raise NotSent(f"the mail server went away: {_line(str(error))}") from error
    try:
        answer = await protocol.execute_command(b".", timeout=_VERDICT_SECONDS)
    except (SMTPException, OSError) as error:
        raise OutcomeUnknown(f"no answer to the whole mail: {_line(str(error))}") from error
    if not 200 <= answer.code <= 299:
        raise _failure(SMTPResponseException(answer.code, answer.message), "")


def _failure(error: SMTPResponseException, recipient: str) -> Exception:
    """The meaning of a refusal: 4xx is temporary, 5xx is about the address at RCPT, otherwise about
    this mail.
    """
    text = f"the mail server says {error.code} {_line(error.message)}"
    if not recipient and not 400 <= error.code <= 599:
        return OutcomeUnknown(f"{text}, which is not an answer to a mail")
    if error.code < 500 or (error.code == _STORAGE_FULL and recipient):
        return NotSent(text)
    about_address = re.match(r"5\.1\.|5\.2\.1", error.message)
    about_policy = re.match(r"5\.[37]\.", error.message)
    at_recipient = type(error).__name__ == "SMTPRecipientRefused"
    if about_address or (at_recipient and not about_policy):
        return ChatGone(f"{recipient or 'the address'}: {text}")
    return Refused(text)


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
