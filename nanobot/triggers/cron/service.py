"""The documented import path of `CronService`."""

from nanobot.triggers.service import CronService

__all__ = ["CronService"]
