from nanobot.messages import *  # noqa: F403
