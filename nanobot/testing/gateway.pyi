from nanobot.plugins.kit.gateway import Brought as Brought
from nanobot.plugins.kit.gateway import FakeGateway as FakeGateway
from nanobot.plugins.kit.gateway import MemoryHome as MemoryHome
from nanobot.plugins.kit.gateway import Options as Options
from nanobot.plugins.kit.gateway import Process as Process
from nanobot.plugins.kit.gateway import gateway as gateway
