/** What is asked of the gateway and shown: on its way, come, older than asked for, or refused. */

import { access, ApiError } from "../api.js";
import { language, t } from "../i18n.js";
import { html, useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "../lib.js";
import { changed } from "../live.js";
import { Button, said } from "./button.js";
import { Icon } from "./icons.js";

/** @typedef {import("../vendor/preact.js").ComponentChildren} Children */

/** Pauses before something is asked again that nothing answers, although the gateway does. */
const FIRST_PAUSE = 3_000;
const LONGEST_PAUSE = 60_000;

/**
 * A question on its way: what was watched and how often something had changed when it was asked,
 * whether it has to be asked again, whether what it asks for is not there (any more), and who
 * waits for its answer; how often in a row it was asked again in vain although the gateway answers,
 * and when it may be asked again.
 * @typedef {{
 *   control: AbortController | null, watched: unknown[], seen: number, stale: boolean,
 *   gone: boolean, waiters: (() => void)[], vain: number, next: number,
 *   ask: (signal: AbortSignal) => Promise<any>,
 * }} Flight
 */

/**
 * Whether the same is asked as before, maybe later or in another language.
 * @param {Flight} one
 * @param {unknown[]} watched
 */
const isSame = ({ watched: before, seen }, watched) =>
  watched.length === before.length &&
  watched.every(
    (value, at) =>
      value === before[at] ||
      (before[at] === seen && value === changed.value) ||
      at === watched.length - 1,
  );

/**
 * Whether the same is asked as before, only later.
 * @param {Flight} one
 * @param {unknown[]} watched
 */
const isLater = (one, watched) =>
  one.seen !== changed.value && watched.at(-1) === one.watched.at(-1) && isSame(one, watched);

/** @param {Flight} one */
function release(one) {
  const { waiters } = one;
  one.waiters = [];
  for (const done of waiters) done();
}

/**
 * What something on the way gave: `{ value, error, waiting, again }`; asked again when one of
 * `changing` changes, or the language, in which the gateway answers. `waiting`: the value answers
 * what was asked before. `again` asks again, until the answer has come.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} fetching
 * @param {unknown[]} changing
 */
export function useFetched(fetching, changing, every = 0) {
  const watched = [...changing, language.value];
  const [state, setState] = useState(
    /** @type {{ value: T | undefined, error: unknown, waiting: boolean }} */ ({
      value: undefined,
      error: undefined,
      waiting: false,
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
      waiters: [],
      vain: 0,
      next: 0,
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
        (value) => {
          if (control.signal.aborted) return;
          Object.assign(one, { vain: 0, next: 0 });
          setState({ value, error: undefined, waiting: false });
        },
        (error) => {
          if (control.signal.aborted) return;
          one.gone = error.status === 404;
          // The answer to another question is none to this one.
          setState(({ value, waiting }) => ({
            value: waiting ? undefined : value,
            error,
            waiting: false,
          }));
        },
      )
      .finally(() => {
        if (one.control !== control) return;
        one.control = null;
        if (one.stale && !one.gone) start();
        else release(one);
      });
  };
  // Asked before the next frame is drawn, and not after it.
  useLayoutEffect(() => {
    // What is on its way is awaited if only time has passed: a busy gateway would never be heard.
    const later = isLater(one, watched);
    const same = isSame(one, watched);
    const { gone } = one;
    Object.assign(one, { watched, seen: changed.value, gone: false });
    if (later && gone) {
      one.gone = true; // a change elsewhere brings nothing back
      release(one);
    } else if (later && one.control !== null) {
      one.stale = true;
    } else {
      one.control?.abort();
      if (!same)
        setState((before) =>
          before.value === undefined && !before.error
            ? before
            : { value: before.value, error: undefined, waiting: before.value !== undefined },
        );
      start();
    }
  }, [...watched, turn]);
  const again = () =>
    /** @type {Promise<void>} */ (
      new Promise((done) => {
        one.waiters.push(done);
        setTurn((value) => value + 1);
      })
    );
  useEffect(() => {
    const timer = every
      ? setInterval(
          () => document.hidden || Date.now() < one.next || setTurn((value) => value + 1),
          every,
        )
      : 0;
    return () => clearInterval(timer);
  }, [every]);
  useEffect(() => {
    if (access.value !== "in" || !isAway(state.error)) return undefined;
    const ask = () => {
      // The gateway is there: if this is not answered either, it may never be.
      one.next = Date.now() + Math.min(FIRST_PAUSE * 2 ** one.vain, LONGEST_PAUSE);
      one.vain += 1;
      setTurn((value) => value + 1);
    };
    const timer = setTimeout(ask, one.vain ? one.next - Date.now() : 0);
    return () => clearTimeout(timer);
  }, [access.value]);
  useEffect(() => () => (one.control?.abort(), release(one)), []);
  return { ...state, again };
}

/** @param {unknown} error */
const isAway = (error) => error instanceof ApiError && error.code === "away";

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
 * In the place of something that is not there: why, and how to have it.
 * @param {{ why: string, again: () => unknown, title?: string, name?: string }} props
 */
export const Refused = ({ why, again, title, name }) => html`
  <div class="empty bad" role="alert">
    <${Icon} name="warning" size=${28} />
    <h2>${title ?? t("This could not be loaded")}</h2>
    <p>${why}</p>
    <${Button} onClick=${again}>${name ?? t("Try again")}<//>
  </div>
`;

/**
 * What is in it, or, where that cannot be drawn, that it cannot: the rest of the page stays. `of`:
 * with another one it is tried again.
 * @param {{ of: unknown, children: Children }} props
 */
export function Safe({ of, children }) {
  const [error, reset] = useErrorBoundary((problem) => console.error(problem));
  useEffect(() => {
    if (error) reset();
  }, [of]);
  if (!error) return children;
  return html`
    <${Refused} title=${t("This could not be shown")} why=${said(error)} again=${reset} />
  `;
}

/**
 * That asking again failed.
 * @param {{ of: { error: unknown, again: () => unknown } }} props
 */
export function Failed({ of: { error, again } }) {
  if (!error || isAway(error)) return null;
  return html`
    <p class="bad older-than" role="alert">
      ${t("This could not be renewed: {why}", { why: said(error) })}${" "}
      <${Button} kind="small" onClick=${again}>
        ${t("Try again")}
      <//>
    </p>
  `;
}

/** @template T @param {{ value: T, children: (value: T) => Children }} props */
const Drawn = ({ value, children }) => children(value);

/**
 * What was fetched, or that it is on its way, or why it did not come. What is shown stays while
 * something else is on its way, or when asking again fails, and says so.
 * @template T
 * @param {{
 *   of: {
 *     value: T | undefined, error: unknown, waiting?: boolean, again: () => unknown,
 *   },
 *   children: (value: T) => Children, rows?: number,
 * }} props
 */
export function Fetched({ of, children, rows = 6 }) {
  const { value, error, waiting, again } = of;
  if (value === undefined) {
    if (!error) return html`<${Loading} rows=${rows} />`;
    return html`<${Refused} why=${said(error)} again=${again} />`;
  }
  return html`
    ${waiting && html`<div class="coming" role="status" aria-label=${t("Loading")}></div>`}
    <${Failed} of=${of} />
    <${Safe} of=${value}>
      <${Drawn} value=${value}>${children}<//>
    <//>
  `;
}
