/** What every part of the page is made with, under one name. */

import { Fragment, h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export { useEffect, useLayoutEffect, useMemo, useRef, useState, useCallback } from "./vendor/preact-hooks.js";
export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "./vendor/signals.js";
export { Fragment, h, render };

export const html = htm.bind(h);
