from nanobot.plugins.library.message_bus import MessageBus as MessageBus
