from nanobot.plugins.common.exposures import Attacker as Attacker
from nanobot.plugins.common.exposures import Exposure as Exposure
from nanobot.plugins.common.exposures import Level as Level
