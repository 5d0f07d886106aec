from nanobot.plugins.common.file_labels.labelled_files import LabelledFiles as LabelledFiles
