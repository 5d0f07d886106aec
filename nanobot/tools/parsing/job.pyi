from nanobot.plugins.common.files.parse_job import MAX_TEXT as MAX_TEXT
from nanobot.plugins.common.files.parse_job import ParsedDocument as ParsedDocument
from nanobot.plugins.common.files.parse_job import ParseJob as ParseJob
