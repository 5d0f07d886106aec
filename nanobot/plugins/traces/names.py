"""The names of spans and attributes, following OpenTelemetry's conventions.

GenAI and MCP: open-telemetry/semantic-conventions-genai 0.1.0 (status: development), over the
semantic conventions 1.45.0. Names without an equivalent there begin with `nanobot.`. Verdicts of
the policy have none: `gen_ai.guardrail.*` is only a draft.
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
REQUEST_REASONING = "gen_ai.request.reasoning.level"
REQUEST_STREAM = "gen_ai.request.stream"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
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

INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"

MCP_METHOD = "mcp.method.name"
MCP_SESSION = "mcp.session.id"
MCP_PROTOCOL = "mcp.protocol.version"
MCP_SERVER = "nanobot.mcp.server"
NETWORK_TRANSPORT = "network.transport"
SERVER_ADDRESS = "server.address"

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
POLICY = "nanobot.policy.verdict"
POLICY_VERDICT = "nanobot.policy.verdict.type"
POLICY_RULE = "nanobot.policy.rule"

OF_FACTS: Mapping[str, str] = {
    "mcp.server": MCP_SERVER,
    "mcp.method": MCP_METHOD,
    "mcp.protocol": MCP_PROTOCOL,
    "mcp.session": MCP_SESSION,
    "mcp.transport": NETWORK_TRANSPORT,
    "mcp.address": SERVER_ADDRESS,
}
"""The attributes for the facts of a tool's result; others are not sent."""

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
