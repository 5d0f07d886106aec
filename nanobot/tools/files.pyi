from nanobot.plugins.common.places import FILE_TOOLS as FILE_TOOLS
from nanobot.plugins.common.places import FilePlace as FilePlace
