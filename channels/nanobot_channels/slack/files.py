"""Files to and from Slack (https://docs.slack.dev/messaging/working-with-files)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from nanobot.errors import ChannelDown, NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, Attachment
from nanobot.ports import OutboundPart
from nanobot.system import proxy_for
from nanobot_channels.common.http import TooMuch, read_at_most
from nanobot_channels.common.uploads import upload_name
from nanobot_channels.slack.api import (
    FAILED,
    ApiRefusal,
    WebApi,
    delivery_error,
    is_passing,
)
from nanobot_channels.slack.parts import caption_blocks

_TRANSFER = aiohttp.ClientTimeout(total=300.0, connect=10.0, sock_read=60.0)


MOST_FILES = 10
"""Files of one message, as in Slack's own clients: with 15 it answers internal_error
(python-slack-sdk issue 1653, not documented)."""
_TOGETHER = 50_000_000
"""Bytes that are held for one message. Slack itself accepts a gigabyte per file."""


def together(files: Sequence[Attachment]) -> int:
    """How many of these files, from the first on, fit into one message."""
    size = count = 0
    for file in files[:MOST_FILES]:
        size += file.size
        if size > _TOGETHER:
            break
        count += 1
    return max(count, 1)


async def upload(
    api: WebApi, address: Address, part: OutboundPart, contents: Sequence[bytes]
) -> str:
    """Send files into a chat as one message; returns its id, or the first file's if Slack does not
    return that. Raises NotSent, Refused, ChatGone or OutcomeUnknown.
    """
    files = (part.file or Attachment(kind="document"), *part.others)
    if len(files) != len(contents) or len(files) > MOST_FILES:
        raise Refused("these files are not one message")
    names = [upload_name(file) for file in files]
    # Until the last step the chat shows nothing.
    ids = [
        await _uploaded(api, name, content) for name, content in zip(names, contents, strict=True)
    ]
    titled = [{"id": number, "title": name} for number, name in zip(ids, names, strict=True)]
    params: dict[str, Any] = {
        "files": titled,
        "channel_id": address.chat_id,
        "thread_ts": address.thread_id,
        "blocks": caption_blocks(part, part.text or ", ".join(names)),
    }
    try:
        answer = await api.call("files.completeUploadExternal", params, form=True)
    except FAILED as error:
        raise delivery_error(error) from error
    return _message_id(answer, address.chat_id) or ids[0]


async def _uploaded(api: WebApi, name: str, content: bytes) -> str:
    """The id of an uploaded file that Slack does not show anywhere yet."""
    try:
        request = {"filename": name, "length": len(content)}
        place = await api.call("files.getUploadURLExternal", request, form=True)
        url, file_id = str(place["upload_url"]), str(place["file_id"])
    except KeyError as error:
        raise NotSent(f"Slack's files.getUploadURLExternal answered without {error}") from error
    except FAILED as error:
        failed = delivery_error(error)
        unseen = isinstance(failed, OutcomeUnknown)
        raise NotSent(str(error)) if unseen else failed from error
    await _put(api, url, content)
    return file_id


async def _put(api: WebApi, url: str, content: bytes) -> None:
    try:
        async with api.session().post(
            url, data=content, timeout=_TRANSFER, proxy=proxy_for(url), ssl=api.client.ssl or True
        ) as answer:
            status = answer.status
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise NotSent(f"the upload to Slack failed: {error!r}") from error
    if status >= 500 or status == 429:
        raise NotSent(f"the upload to Slack failed ({status})")
    if status != 200:
        raise Refused(f"Slack refuses the file ({status})")


def _message_id(answer: dict[str, Any], chat: str) -> str | None:
    """The ts of the message that shows the file, if the response has it already."""
    try:
        shares = answer["files"][0]["shares"]
        return str((shares.get("public") or shares["private"])[chat][0]["ts"])
    except (AttributeError, KeyError, IndexError, TypeError):
        return None


async def download(api: WebApi, attachment: Attachment, limit: int) -> bytes:
    """A file's content. Raises Refused for a file that can never be fetched, and ChannelDown."""
    url = await _url(api, attachment.ref)
    if not _trusted(api, url):
        raise Refused("the file is not kept by Slack; open its link instead")
    try:
        async with api.session().get(
            url,
            headers=api.bearer(),
            timeout=_TRANSFER,
            proxy=proxy_for(url),
            ssl=api.client.ssl or True,
        ) as answer:
            _check(answer, attachment)
            return await read_at_most(answer, limit)
    except TooMuch as error:
        raise Refused(f"the file is larger than {limit} bytes") from error
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise ChannelDown(f"the file could not be loaded from Slack: {error!r}") from error


async def _url(api: WebApi, ref: str) -> str:
    if ref.startswith(("http://", "https://")):
        return ref
    try:
        answer = await api.call("files.info", {"file": ref}, form=True)
        file = answer["file"]
        return str(file.get("url_private_download") or file["url_private"])
    except ApiRefusal as error:
        if is_passing(error):
            raise ChannelDown(str(error), error.retry_after) from error
        raise Refused(str(error)) from error
    except FAILED as error:
        raise ChannelDown(str(error)) from error
    except (AttributeError, KeyError, TypeError) as error:
        raise Refused("Slack does not say where the file is") from error


def _trusted(api: WebApi, url: str) -> bool:
    """Whether the token may be sent to this URL: external files are on other hosts."""
    parts, root = urlsplit(url), urlsplit(api.root)
    if (parts.scheme, parts.netloc) == (root.scheme, root.netloc):
        return True
    host = parts.hostname or ""
    return parts.scheme == "https" and (host == "slack.com" or host.endswith(".slack.com"))


def _check(answer: aiohttp.ClientResponse, attachment: Attachment) -> None:
    status = answer.status
    if status in {401, 403} or _is_sign_in(answer, attachment):
        raise Refused(
            "Slack asks to sign in instead of giving the file: add the scope files:read on "
            "api.slack.com/apps under OAuth & Permissions, and install the app again"
        )
    if status == 429 or status >= 500:
        raise ChannelDown(f"Slack does not give the file now ({status})")
    if status != 200:
        raise Refused(f"Slack does not give the file ({status})")


def _is_sign_in(answer: aiohttp.ClientResponse, attachment: Attachment) -> bool:
    if answer.content_type != "text/html":
        return False
    return attachment.mime != "text/html" or bool(answer.history)
