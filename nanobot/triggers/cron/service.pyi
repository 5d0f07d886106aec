from nanobot.plugins.jobs.timer import CronService as CronService
