"""The names of spans and attributes, following OpenTelemetry's conventions.

GenAI: open-telemetry/semantic-conventions-genai 0.1.0 (status: development), over the semantic
conventions 1.45.0. Names without an equivalent there begin with `nanobot.`.
"""

from __future__ import annotations

from collections.abc import Mapping

SCHEMA_URL = "https://opentelemetry.io/schemas/1.45.0"
SCOPE = "nanobot.traces"

OPERATION = "gen_ai.operation.name"
INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"
SEARCH_MEMORY = "search_memory"

AGENT_NAME = "gen_ai.agent.name"
CONVERSATION_ID = "gen_ai.conversation.id"
PROVIDER_NAME = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_write.input_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL_ID = "gen_ai.tool.call.id"
EVALUATION = "gen_ai.evaluation.result"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_NAME = "gen_ai.evaluation.name"

MESSAGING_SYSTEM = "messaging.system"
MESSAGING_OPERATION = "messaging.operation.name"
MESSAGING_OPERATION_TYPE = "messaging.operation.type"

ERROR_TYPE = "error.type"
SESSION_ID = "session.id"

RUN_ID = "nanobot.run.id"
RUN_KIND = "nanobot.run.kind"
RUN_STATE = "nanobot.run.state"
RUN_ORIGIN = "nanobot.run.origin"
SEGMENT = "nanobot.run.segment"
COST = "nanobot.cost"
ROLE = "nanobot.role"
STAGE = "nanobot.stage"
MAYBE_DUPLICATE = "nanobot.send.maybe_duplicate"
APPROVAL_ASKED = "nanobot.approval.requested"
APPROVAL_DECIDED = "nanobot.approval.decided"
APPROVAL_ID = "nanobot.approval.id"
VERDICT = "nanobot.approval.verdict"

_PROVIDERS: Mapping[str, str] = {
    "gemini": "gcp.gemini",
    "vertex_ai": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "xai": "x_ai",
}


def provider_name(provider: str) -> str:
    """The conventions' name of a provider; the provider's own name if they have none."""
    return _PROVIDERS.get(provider, provider)
