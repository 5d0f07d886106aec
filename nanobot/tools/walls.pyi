from nanobot.plugins.common.walls import NO_NETWORK as NO_NETWORK
from nanobot.plugins.common.walls import WALLS as WALLS
from nanobot.plugins.common.walls import AloneWall as AloneWall
from nanobot.plugins.common.walls import NetworkAccess as NetworkAccess
from nanobot.plugins.common.walls import NoWalls as NoWalls
from nanobot.plugins.common.walls import SandboxProcess as SandboxProcess
from nanobot.plugins.common.walls import SandboxView as SandboxView
from nanobot.plugins.common.walls import Walls as Walls
