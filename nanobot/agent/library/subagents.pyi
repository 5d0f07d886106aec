from nanobot.plugins.tasks.subagents import SubagentManager as SubagentManager
