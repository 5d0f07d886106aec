"""The ports: what the core needs from stores, channels and the machine.

Every guarantee in a docstring here is tested by the port's contract suite, for each implementation.
"""

from nanobot.ports.abilities import (
    Albums,
    Commanding,
    CommandingByChat,
    Confiding,
    Deleting,
    Drafting,
    Editing,
    Fetching,
    Filing,
    MenuCommand,
    Ordering,
    Probing,
    Reacting,
    Reaction,
    Recalling,
    Streaming,
    Telling,
)
from nanobot.ports.channel import Capabilities, Channel, Intake, OutboundPart, Rate
from nanobot.ports.machine import BlobReader, Clock, Ids
from nanobot.ports.missed import CatchUp, History, Missed
from nanobot.ports.receiving import PlatformReply, PlatformRequest, Receiving
from nanobot.ports.setup import Checked, SelfChecking, Setup, SetupField

__all__ = [
    "Albums",
    "BlobReader",
    "Capabilities",
    "CatchUp",
    "Channel",
    "Checked",
    "Clock",
    "Commanding",
    "CommandingByChat",
    "Confiding",
    "Deleting",
    "Drafting",
    "Editing",
    "Fetching",
    "Filing",
    "History",
    "Ids",
    "Intake",
    "MenuCommand",
    "Missed",
    "Ordering",
    "OutboundPart",
    "PlatformReply",
    "PlatformRequest",
    "Probing",
    "Rate",
    "Reacting",
    "Reaction",
    "Recalling",
    "Receiving",
    "SelfChecking",
    "Setup",
    "SetupField",
    "Streaming",
    "Telling",
]
