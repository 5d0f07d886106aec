"""How what is measured leaves the machine: OTLP over HTTP."""
