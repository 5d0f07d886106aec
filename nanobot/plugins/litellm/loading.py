"""Loads litellm, and closes its connections. The only module that imports it."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

from nanobot.errors import ModelMissing
from nanobot.system import Installation

INSTALL = Installation().adding("litellm")
"""It is a dependency; this restores it if it was removed or is broken."""

# Read when it is imported. Without them it downloads tables from the network and loads a .env file
# that happens to be in the current folder.
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_MODE": "PRODUCTION",
}


def load_litellm() -> Any:
    """The library, loaded once and quiet: no telemetry, no downloads, no retries, no log lines.

    Takes seconds, so call it on a thread. Raises ModelMissing if it cannot be loaded.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)  # noqa: TID251 - litellm reads these and nothing else
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library: Any = import_module("litellm")
    except ImportError as problem:
        raise ModelMissing(
            f"This provider is reached through litellm, which cannot be loaded ({problem}). "
            f"Install it again with: {INSTALL}"
        ) from problem
    # Its types make pydantic warn at the first call, which users cannot fix.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic\.")
    library.telemetry = False
    library.suppress_debug_info = True
    library.turn_off_message_logging = True
    library.drop_params = True
    library.num_retries = 0
    library.disable_aiohttp_transport = True
    # Its guard against endless streams counts repetitions, which breaks tables; ours counts bytes.
    library.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return library


def errors_of_calls() -> tuple[type[Exception], ...]:
    """The exceptions that a call may raise. litellm does not catch all errors in its adapters."""
    wrapped = import_module("openai").OpenAIError  # the base of litellm's own errors
    transport = import_module("httpx").HTTPError
    stumbled = (ImportError, OSError, LookupError, ValueError, TypeError, AttributeError)
    return (wrapped, transport, *stumbled)


async def hang_up(library: Any) -> None:
    """Close the connections, which all providers of the process share."""
    with suppress(*errors_of_calls()):
        worker = import_module("litellm.litellm_core_utils.logging_worker").GLOBAL_LOGGING_WORKER
        await worker.stop()
        await library.close_litellm_async_clients()
        library.in_memory_llm_clients_cache.flush_cache()
        # Some adapters share another client, which reopens when it is needed.
        if (shared := vars(library).get("module_level_aclient")) is not None:
            await shared.close()
