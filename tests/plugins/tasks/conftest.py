"""The fixtures of agents."""

from tests.agent.conftest import held as held
