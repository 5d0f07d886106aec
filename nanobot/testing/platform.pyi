from nanobot.plugins.kit.platform import MEMBER as MEMBER
from nanobot.plugins.kit.platform import OWNER as OWNER
from nanobot.plugins.kit.platform import ArrivedFile as ArrivedFile
from nanobot.plugins.kit.platform import ArrivedMessage as ArrivedMessage
from nanobot.plugins.kit.platform import FakeChannel as FakeChannel
from nanobot.plugins.kit.platform import FakePlatform as FakePlatform
from nanobot.plugins.kit.platform import SendFailure as SendFailure
