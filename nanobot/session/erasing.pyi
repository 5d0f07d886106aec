from nanobot.plugins.common.erasing import Eraser as Eraser
