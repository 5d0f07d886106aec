from nanobot.plugins.common.file_readers import FileReaders as FileReaders
