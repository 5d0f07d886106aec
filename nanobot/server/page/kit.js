/** What the views of plugins are made with: their scripts get this, and return a component. */

import { at, change, read } from "./api.js";
import { language, t } from "./i18n.js";
import { html, useEffect, useMemo, useRef, useState } from "./lib.js";
import { Button, Choice, Empty, Fetched, Field, Head, useFetched } from "./parts/basics.js";
import { tell } from "./parts/notices.js";

const kit = {
  ...{ at, change, read, language, t, tell },
  ...{ html, useEffect, useMemo, useRef, useState },
  ...{ Button, Choice, Empty, Fetched, Field, Head, useFetched },
};

/** The view of a script. @param {string} path */
export const made = async (path) => ({ default: (await import(at(path))).default(kit) });
