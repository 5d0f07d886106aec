from nanobot.plugins.kit.plugins import TriedPlugin as TriedPlugin
from nanobot.plugins.kit.plugins import tried as tried
