from nanobot.plugins.library.sessions import SessionManager as SessionManager
