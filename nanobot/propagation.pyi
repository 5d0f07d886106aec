from nanobot.plugins.common.propagation import Headers as Headers
from nanobot.plugins.common.propagation import Propagation as Propagation
from nanobot.plugins.common.propagation import Propagator as Propagator
from nanobot.plugins.common.propagation import Step as Step
