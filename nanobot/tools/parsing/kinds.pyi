from nanobot.plugins.common.files.file_readers import FileReaders as FileReaders
