"""Operations of features, beside those of the core: one module each, named in the catalogue."""

import nanobot.operations  # noqa: F401 - the catalogue names what is here, so it comes first
