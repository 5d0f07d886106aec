from nanobot.plugins.kit.machine import PATIENCE as PATIENCE
from nanobot.plugins.kit.machine import CountingIds as CountingIds
from nanobot.plugins.kit.machine import ManualClock as ManualClock
