from nanobot.plugins.kit.model import Answer as Answer
from nanobot.plugins.kit.model import Held as Held
from nanobot.plugins.kit.model import Script as Script
from nanobot.plugins.kit.model import ScriptedProvider as ScriptedProvider
from nanobot.plugins.kit.model import asks_for as asks_for
from nanobot.plugins.kit.model import last_text as last_text
