"""The documented import path of `CronService`."""
