from nanobot.plugins.common.files.shown_files import OpenFile as OpenFile
from nanobot.plugins.common.files.shown_files import ShownFiles as ShownFiles
