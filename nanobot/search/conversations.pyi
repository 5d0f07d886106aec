from nanobot.plugins.common.message_search import MessageSearch as MessageSearch
