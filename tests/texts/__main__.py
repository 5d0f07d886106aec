"""Lists what is wrong with the catalogue: `python -m tests.texts` prints the missing rows, ready to
paste, and the rows that no code says any more. With `--write` it removes these from the files and
adds the missing ones with an empty translation.
"""

from __future__ import annotations

import sys

from tests.texts.files import difference, write

if __name__ == "__main__":
    found = difference()
    if "--write" in sys.argv[1:]:
        write(found)
    print(found)
    sys.exit(bool(found))
