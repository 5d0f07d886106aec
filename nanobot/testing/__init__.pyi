# The names of nanobot/plugins/kit/public.py, for type checkers; a test holds the two together.
from nanobot.plugins.kit.gateway import FakeGateway as FakeGateway
from nanobot.plugins.kit.gateway import MemoryHome as MemoryHome
from nanobot.plugins.kit.gateway import Options as Options
from nanobot.plugins.kit.gateway import Process as Process
from nanobot.plugins.kit.gateway import gateway as gateway
from nanobot.plugins.kit.machine import CountingIds as CountingIds
from nanobot.plugins.kit.machine import ManualClock as ManualClock
from nanobot.plugins.kit.model import Answer as Answer
from nanobot.plugins.kit.model import Held as Held
from nanobot.plugins.kit.model import ScriptedProvider as ScriptedProvider
from nanobot.plugins.kit.model import asks_for as asks_for
from nanobot.plugins.kit.model import last_text as last_text
from nanobot.plugins.kit.platform import MEMBER as MEMBER
from nanobot.plugins.kit.platform import OWNER as OWNER
from nanobot.plugins.kit.platform import ArrivedMessage as ArrivedMessage
from nanobot.plugins.kit.platform import FakeChannel as FakeChannel
from nanobot.plugins.kit.platform import FakePlatform as FakePlatform
