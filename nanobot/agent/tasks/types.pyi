from nanobot.plugins.common.runs.run_types import AnyRunType as AnyRunType
from nanobot.plugins.common.runs.run_types import RunType as RunType
from nanobot.plugins.common.runs.run_types import TaskContext as TaskContext
from nanobot.plugins.common.runs.run_types import installed as installed
from nanobot.plugins.common.runs.run_types import trouble as trouble
