from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles as TaintedFiles
