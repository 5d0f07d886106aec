"""The settings in a `[channels.NAME]` table of WhatsApp, and how people set one up."""

from __future__ import annotations

import msgspec

from nanobot.ports import Setup, SetupField
from nanobot_channels.common.settings import Table

API_ROOT = "https://graph.facebook.com"
API_VERSION = "v24.0"

SETUP = Setup(
    title="WhatsApp",
    steps=(
        "On developers.facebook.com/apps make an app with the use case WhatsApp, add a phone "
        "number, and make a permanent token for a system user. WhatsApp delivers messages to your "
        "gateway, so set web.public_url to its public https address first. Make up a verify token: "
        "you enter it here and on the app's page WhatsApp, Configuration, Webhook."
    ),
    docs="docs/channels/whatsapp.md",
    fields=(
        SetupField(
            key="phone_number_id",
            asks="Phone number ID (WhatsApp, API Setup; not the number itself)",
            variables=("WHATSAPP_PHONE_NUMBER_ID",),
        ),
        SetupField(
            key="access_token",
            asks="Access token of a system user, EAA...",
            secret=True,
            variables=("WHATSAPP_ACCESS_TOKEN",),
        ),
        SetupField(
            key="app_secret",
            asks="App secret (App settings, Basic)",
            secret=True,
            variables=("WHATSAPP_APP_SECRET",),
        ),
        SetupField(
            key="verify_token",
            asks="Verify token that you made up",
            secret=True,
            variables=("WHATSAPP_VERIFY_TOKEN",),
        ),
        SetupField(
            key="template",
            asks="Approved template that asks a person to write, for messages after 24 hours",
            optional=True,
        ),
    ),
    person="Your phone number with country code, digits only",
    pattern=r"[1-9]\d{5,14}|[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}",
    id_is_chat=True,
)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`template` (of that language) is sent once to a person whose 24 hours are over. `receipts`: a
    message is marked as read when it is being answered, without which there is no typing indicator.
    """

    phone_number_id: str
    access_token: str
    app_secret: str
    verify_token: str
    api_root: str = API_ROOT
    api_version: str = API_VERSION
    template: str = ""
    template_language: str = "en_US"
    receipts: bool = True
    link_previews: bool = False


def settings_of(table: Table) -> Settings:
    """Raises ConfigError for invalid settings."""
    return Settings(
        phone_number_id=table.token(
            "phone_number_id",
            r"\d{5,20}",
            "put the Phone number ID of the app's page WhatsApp, API Setup, there, in quotes.",
            odd="is not a phone number ID",
        ),
        access_token=table.token(
            "access_token",
            r"[\w.%|-]{20,2000}",
            "put the token of a system user there (business.facebook.com, Settings, System users).",
            odd="is not an access token",
        ),
        app_secret=table.token(
            "app_secret",
            r"[0-9a-f]{32}",
            "put the App secret of the app's page App settings, Basic, there.",
            odd="is not an app secret, which has 32 hexadecimal digits",
        ),
        verify_token=table.token(
            "verify_token",
            r"\S{12,200}",
            "make one up, of 12 characters or more without blanks.",
            odd="is too short, too long, or has blanks",
        ),
        api_root=table.url("api_root", API_ROOT),
        api_version=table.text("api_version", API_VERSION, r"v\d{1,3}\.\d", 'write "v24.0"'),
        template=table.text("template", "", r"[a-z0-9_]{1,512}", "use the name of a template"),
        template_language=table.text(
            "template_language", "en_US", r"[a-z]{2,3}(?:_[A-Z]{2})?", 'write "en_US" or "de"'
        ),
        receipts=table.flag("receipts", usual=True),
        link_previews=table.flag("link_previews", usual=False),
    )
