from nanobot.plugins.common.runs.programs import NO_PROGRAMS as NO_PROGRAMS
from nanobot.plugins.common.runs.programs import WHERE as WHERE
from nanobot.plugins.common.runs.programs import Programs as Programs
