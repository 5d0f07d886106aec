from nanobot.plugins.kit.memory_home import MemoryHome as MemoryHome
from nanobot.plugins.kit.memory_home import Process as Process
