/** Small parts that every view is made of. */

import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib.js";
import { changed } from "../live.js";
import { access, ApiError, known, outdated, unreadable } from "../api.js";
import { ago, moment } from "../format.js";
import { language, t } from "../i18n.js";
import { Icon } from "./icons.js";
import { tell } from "./notices.js";

/** @typedef {import("../vendor/preact.js").ComponentChildren} Children */

/**
 * A button that shows that it is at work, and tells what went wrong.
 * @param {{
 *   onClick?: (event: MouseEvent) => unknown, kind?: string, icon?: string, label?: string,
 *   children?: Children, title?: string, disabled?: boolean, type?: "button" | "submit",
 * }} props
 */
export function Button({
  onClick,
  kind = "plain",
  icon,
  label,
  children,
  title,
  disabled,
  type = "button",
}) {
  const [busy, setBusy] = useState(false);
  const press = async (/** @type {MouseEvent} */ event) => {
    if (!onClick) return;
    setBusy(true);
    try {
      await onClick(event);
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  };
  return html`
    <button
      type=${type}
      class=${`button ${kind}`}
      onClick=${press}
      disabled=${disabled || busy}
      aria-busy=${busy}
      aria-label=${label}
      title=${title ?? label}
    >
      ${icon && html`<${Icon} name=${icon} />`}
      ${children}
    </button>
  `;
}

/** What an error says to a person. @param {unknown} error */
export const said = (error) =>
  error instanceof ApiError
    ? error.message
    : t("Something went wrong in this page: {error}", { error });

/**
 * Tell what went wrong with something that was pressed. That the gateway does not answer stands
 * above the page already.
 * @param {unknown} error
 */
export function complain(error) {
  if (!(error instanceof ApiError && error.code === "away")) tell(said(error), "bad");
}

/**
 * A time: how long ago, with the exact one on hovering.
 * @param {{ at: number | null | undefined }} props
 */
export function When({ at }) {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => again((value) => value + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (at === null || at === undefined) return null;
  return html`
    <time datetime=${new Date(at * 1000).toISOString()} title=${moment(at)}>
      ${ago(at)}
    </time>
  `;
}

/** @type {Record<string, string[]>} */
const TONES = {
  good: [
    "completed",
    "succeeded",
    "sent",
    "done",
    "active",
    "connected",
    "running",
    "ok",
    "approved",
    "direct",
    "polling",
    "up",
    "serving",
  ],
  busy: [
    "queued",
    "preparing",
    "model_running",
    "tool_running",
    "sending",
    "pending",
    "preview",
    "starting",
    "connecting",
    "proposed",
  ],
  wait: ["awaiting_human", "waiting", "held", "paused", "digested", "open", "missed"],
  bad: ["failed", "dead", "error", "denied", "refused", "down"],
};
/** @type {Record<string, string>} */
const NAMES = {
  model_running: "thinking",
  tool_running: "using a tool",
  awaiting_human: "waiting for a person",
  completed: "succeeded",
  aborted: "cancelled",
};

/** On or off.
 * @param {{ on: boolean, label: string, onChange: (on: boolean) => unknown }} props
 */
export function Switch({ on, label, onChange }) {
  return html`
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked=${on}
      aria-label=${label}
      onClick=${() => onChange(!on)}
    >
      <i></i>
    </button>
  `;
}

/** What state something is in, as a word with a colour. @param {{ state: string }} props */
export function State({ state }) {
  const word = state.split(/[ :,]/)[0].toLowerCase();
  const tone = Object.keys(TONES).find((name) => TONES[name].includes(word)) ?? "plain";
  return html`<span class=${`state ${tone}`}>${t(NAMES[state] ?? state)}</span>`;
}

/**
 * What stands where there is nothing.
 * @param {{ icon?: string, title: string, children?: Children }} props
 */
export const Empty = ({ icon = "info", title, children }) => html`
  <div class="empty">
    <${Icon} name=${icon} size=${28} />
    <h2>${title}</h2>
    <p>${children}</p>
  </div>
`;

/**
 * The head of a view: its name, what it is for, and what can be done.
 * @param {{ title: string, children?: Children, about?: string }} props
 */
export const Head = ({ title, children, about }) => html`
  <header class="head">
    <div>
      <h1>${title}</h1>
      ${about && html`<p>${about}</p>`}
    </div>
    <div class="actions">${children}</div>
  </header>
`;

/**
 * A question on its way: what was watched and how often something had changed when it was asked,
 * whether it has to be asked again, and whether what it asks for is not there (any more).
 * @typedef {{
 *   control: AbortController | null, watched: unknown[], seen: number, stale: boolean,
 *   gone: boolean,
 *   ask: (signal: AbortSignal) => Promise<any>,
 * }} Flight
 */

/**
 * Whether the same is asked as before, only later.
 * @param {Flight} one
 * @param {unknown[]} watched
 */
const isLater = ({ watched: before, seen }, watched) =>
  seen !== changed.value &&
  watched.length === before.length &&
  watched.every(
    (value, at) => value === before[at] || (before[at] === seen && value === changed.value),
  );

/**
 * What something on the way gave: `{ value, error, again }`; asked again when one of `changing`
 * changes, or the language, in which the gateway answers.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} fetching
 * @param {unknown[]} changing
 */
export function useFetched(fetching, changing, every = 0) {
  const watched = [...changing, language.value];
  const [state, setState] = useState(
    /** @type {{ value: T | undefined, error: unknown }} */ ({
      value: undefined,
      error: undefined,
    }),
  );
  const [turn, setTurn] = useState(0);
  const flight = useRef(
    /** @type {Flight} */ ({
      control: null,
      watched: [],
      seen: 0,
      stale: false,
      gone: false,
      ask: fetching,
    }),
  );
  const one = flight.current;
  one.ask = fetching;
  const start = () => {
    const control = new AbortController();
    Object.assign(one, { control, stale: false });
    one
      .ask(control.signal)
      .then(
        (value) => control.signal.aborted || setState({ value, error: undefined }),
        (error) => {
          if (control.signal.aborted) return;
          one.gone = error.status === 404;
          setState((before) => ({ ...before, error }));
        },
      )
      .finally(() => {
        if (one.control !== control) return;
        one.control = null;
        if (one.stale && !one.gone) start();
      });
  };
  // Asked before the next frame is drawn, and not after it.
  useLayoutEffect(() => {
    // What is on its way is awaited if only time has passed: a busy gateway would never be heard.
    const later = isLater(one, watched);
    const { gone } = one;
    Object.assign(one, { watched, seen: changed.value, gone: false });
    if (later && gone) {
      one.gone = true; // a change elsewhere brings nothing back
    } else if (later && one.control !== null) {
      one.stale = true;
    } else {
      one.control?.abort();
      start();
    }
  }, [...watched, turn]);
  useEffect(() => {
    const timer = every
      ? setInterval(() => document.hidden || setTurn((value) => value + 1), every)
      : 0;
    return () => clearInterval(timer);
  }, [every]);
  useEffect(() => () => one.control?.abort(), []);
  return { ...state, again: () => setTurn((value) => value + 1) };
}

/**
 * Something is on its way: lines in the place of what will stand there.
 * @param {{ rows?: number }} props
 */
export const Loading = ({ rows = 6 }) => html`
  <div class="loading" role="status" aria-label=${t("Loading")}>
    ${Array.from({ length: rows }, () => html`<span></span>`)}
  </div>
`;

/**
 * What was fetched, or that it is on its way, or why it did not come.
 * @template T
 * @param {{
 *   of: { value: T | undefined, error: unknown, again: () => void },
 *   children: (value: T) => Children, rows?: number,
 * }} props
 */
export function Fetched({ of, children, rows = 6 }) {
  if (of.value !== undefined) return children(of.value);
  if (of.error) {
    return html`
      <div class="empty bad" role="alert">
        <${Icon} name="warning" size=${28} />
        <h2>${t("This could not be loaded")}</h2>
        <p>${said(of.error)}</p>
        <${Button} onClick=${of.again}>${t("Try again")}<//>
      </div>
    `;
  }
  return html`<${Loading} rows=${rows} />`;
}

/**
 * A part of the page itself did not come. Browsers keep that it did not until the page is loaded
 * anew, which is for when somebody answers.
 * @param {{ error: unknown }} props
 */
export function Missing({ error }) {
  const again = async () => {
    await known();
    if (access.value !== "away") location.reload();
  };
  return html`
    <div class="empty bad" role="alert">
      <${Icon} name="warning" size=${28} />
      <h2>${t("This could not be loaded")}</h2>
      <p>
        ${outdated.value
          ? t("nanobot was renewed; this page is of the version before.")
          : said(error)}
      </p>
      <${Button} onClick=${again}>${outdated.value ? t("Reload") : t("Try again")}<//>
    </div>
  `;
}

/**
 * A dialog over the page; Escape and a click beside it close it.
 * @param {{ title: string, onClose: () => void, children?: Children, wide?: boolean }} props
 */
export function Dialog({ title, onClose, children, wide = false }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = element.current;
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog?.showModal();
    return () => (dialog?.close(), before?.focus?.());
  }, []);
  return html`
    <dialog
      ref=${element}
      class=${wide ? "wide" : ""}
      aria-label=${title}
      onCancel=${(event) => (event.preventDefault(), onClose())}
      onMouseDown=${(event) => event.target === element.current && onClose()}
    >
      <header>
        <h2>${title}</h2>
        <${Button} kind="bare" icon="close" label=${t("Close")} onClick=${onClose} />
      </header>
      <div class="body">${children}</div>
    </dialog>
  `;
}

/**
 * @typedef {import("../vendor/preact.js").TargetedEvent<
 *   HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>} FormEvent
 */

/** What a control of a form holds now. @param {FormEvent} event */
export const valueOf = ({ currentTarget: control }) =>
  control instanceof HTMLInputElement && control.type === "checkbox"
    ? control.checked
    : control.value;

/**
 * A field of a form with its name and what it is for.
 * @param {{ name: Children, about?: Children, children?: Children }} props
 */
export const Field = ({ name, about, children }) => html`
  <label class="field">
    <span class="name">${name}</span>
    ${children}
    ${about && html`<span class="about">${about}</span>`}
  </label>
`;

/**
 * A switch between a few ways to look at something.
 * @template {string} T
 * @param {{
 *   value: T, options: (readonly [T, string])[], onChange: (value: T) => void, label: string,
 * }} props
 */
export const Choice = ({ value, options, onChange, label }) => html`
  <div class="choice" role="group" aria-label=${label}>
    ${options.map(([key, text]) => html`
      <button type="button" aria-pressed=${value === key} onClick=${() => onChange(key)}>
        ${text}
      </button>
    `)}
  </div>
`;

/**
 * What stands below a list: its rows that the gateway could not read.
 * @param {{ of: keyof import("../gateway.js").Reads }} props the list, as in "runs list"
 */
export function Unreadable({ of }) {
  const [file, setFile] = useState(/** @type {typeof import("./unreadable.js") | null} */ (null));
  const count = unreadable.value[of];
  useEffect(() => {
    if (count) import("./unreadable.js").then(setFile, complain);
  }, [count]);
  const Rows = file?.Rows;
  return Rows && count ? html`<${Rows} of=${of} count=${count} />` : null;
}
