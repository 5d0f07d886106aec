from nanobot.plugins.common.runs.run_service import WHERE as WHERE
from nanobot.plugins.common.runs.run_service import RunService as RunService
from nanobot.plugins.common.runs.run_service import result_of as result_of
