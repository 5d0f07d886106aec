"""The providers that litellm reaches, by its names for them (version 1.106); data, without
importing it.

Only providers with chat models, without litellm's internal ones. A missing name still works with
`client = "litellm"`.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Our names that differ from litellm's.
_ALIASES = {
    "together": "together_ai",
    "fireworks": "fireworks_ai",
    "lmstudio": "lm_studio",
    "vllm": "hosted_vllm",
    "ollama": "ollama_chat",
}

# They use their own protocol (or sign their requests), so they are never called as
# OpenAI-compatible, whatever address is configured.
NATIVE = _names(
    """
    ai21 ai21_chat azure azure_ai bedrock bytez clarifai cloudflare cohere cohere_chat databricks
    gigachat github_copilot heroku huggingface langgraph maritalk nlp_cloud oci predibase replicate
    sagemaker sagemaker_chat sagemaker_nova sap snowflake triton vertex_ai vertex_ai_beta watsonx
    watsonx_text
    """
)

# More or less OpenAI-compatible, at addresses that litellm knows.
_AT_ADDRESSES = _names(
    """
    aiml amazon_nova apertis baseten chutes codestral cometapi compactifai datarobot
    deepinfra docker_model_runner edenai empower featherless_ai fireworks_ai friendliai galadriel
    github gradient_ai helicone hosted_vllm hyperbolic inception lambda_ai lemonade libertai
    litellm_proxy llamafile lm_studio meta_llama minimax modelscope morph nano-gpt nebius novita
    nscale nvidia_nim ollama_chat ovhcloud parasail perplexity poe publicai reka sambanova scaleway
    synthetic tencent together_ai v0 vercel_ai_gateway volcengine wandb xiaomi_mimo xinference
    """
)

# In our own table under the same name.
_SHARED = _names(
    """
    anthropic cerebras dashscope deepseek gemini groq mistral moonshot ollama openai openrouter xai
    zai
    """
)

REACHED = NATIVE | _AT_ADDRESSES
"""Every provider that is called through litellm unless an address is configured."""


def litellm_name(provider: str) -> str | None:
    """The name that litellm has for a provider of ours; None if it has none."""
    name = _ALIASES.get(provider, provider)
    return name if name in REACHED or name in _SHARED else None
