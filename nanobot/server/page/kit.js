/** What the views of plugins are made with. */

import { at, change, read } from "./api.js";
import { language, t } from "./i18n.js";
import { html, useEffect, useMemo, useRef, useState } from "./lib.js";
import { Button, Choice, Empty, Fetched, Field, Head, useFetched } from "./parts/basics.js";

export const kit = {
  ...{ at, change, read, language, t },
  ...{ html, useEffect, useMemo, useRef, useState },
  ...{ Button, Choice, Empty, Fetched, Field, Head, useFetched },
};
