from nanobot.plugins.litellm.provider import LiteLLMProvider as LiteLLMProvider
