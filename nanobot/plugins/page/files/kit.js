/** What the views of plugins are made with: their scripts get this, and return a component. */

import { at, change, may, me, read } from "./api.js";
import { clock, count, duration } from "./format.js";
import { language, t } from "./i18n.js";
import { html, useEffect, useMemo, useRef, useState } from "./lib.js";
import { changed } from "./live.js";
import {
  Button,
  Choice,
  complain,
  Dialog,
  Empty,
  Fetched,
  Field,
  Head,
  State,
  Switch,
  Unreadable,
  useFetched,
  valueOf,
} from "./parts/basics.js";
import { tell } from "./parts/notices.js";
import { go, link } from "./router.js";

const kit = {
  ...{ at, change, may, me, read, language, t, changed, clock, count, duration, go, link, tell },
  ...{ html, useEffect, useMemo, useRef, useState },
  ...{ Button, Choice, complain, Dialog, Empty, Fetched, Field, Head, State },
  ...{ Switch, Unreadable, useFetched, valueOf },
};

/** The view of a script. @param {string} path */
export const made = async (path) => ({ default: (await import(at(path))).default(kit) });
