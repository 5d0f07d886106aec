from nanobot.plugins.library.context_builder import ContextBuilder as ContextBuilder
