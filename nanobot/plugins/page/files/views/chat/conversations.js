/** The list of conversations: those that changed last first, however many there are. */

import { me, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../lib.js";
import { changed } from "../../live.js";
import {
  Button,
  Choice,
  complain,
  Fetched,
  Unreadable,
  useFetched,
  When,
} from "../../parts/basics.js";
import { Icon } from "../../parts/icons.js";
import { Off } from "../../parts/off.js";
import { go, link } from "../../router.js";
import { sought } from "../../sought.js";
import { Manage } from "./manage.js";

/**
 * @typedef {import("../../gateway.js").SessionView} Session
 */

/** The height of a row, as in the styles. */
const ROW_REM = 3.875;
const BEYOND = 8;
/**
 * So many are asked for at once. The first ones are asked for before this module is there: see
 * early.js.
 */
const CHUNK = 200;
const PATIENCE = 200;

const rowHeight = () =>
  ROW_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

/**
 * The rows that can be seen, and a little more: 5,000 conversations cost as much as 20.
 * @param {number} length
 */
function useWindow(length) {
  const element = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 800, row: rowHeight() });
  useEffect(() => {
    const list = element.current;
    if (!list) return undefined;
    const look = () =>
      setView({ top: list.scrollTop, height: list.clientHeight, row: rowHeight() });
    const watching = new ResizeObserver(look);
    watching.observe(list);
    list.addEventListener("scroll", look, { passive: true });
    return () => (watching.disconnect(), list.removeEventListener("scroll", look));
  }, []);
  const { top, height, row } = view;
  const first = Math.max(Math.floor(top / row) - BEYOND, 0);
  return {
    element,
    first,
    row,
    last: Math.min(Math.ceil((top + height) / row) + BEYOND, length),
  };
}

/**
 * The rows known so far with the latest ones in their place. One that was among those and is not
 * any more has moved down behind them, or is gone.
 * @param {Session[]} rows
 * @param {Session[]} latest
 * @returns {Session[]}
 */
export function renewed(rows, latest) {
  if (latest.length < CHUNK) return latest;
  const there = new Set(latest.map(({ key }) => key));
  const end = latest.filter(({ pinned }) => !pinned).at(-1)?.updated_at ?? 0;
  return [...latest, ...rows.filter(({ key, updated_at: at }) => !there.has(key) && at <= end)];
}

/** The list as far as it was scrolled. @param {string} only @param {string} find */
function useList(only, find) {
  const [rows, setRows] = useState(/** @type {Session[]} */ ([]));
  const [whole, setWhole] = useState(false);
  const busy = useRef(false);
  const asking = {
    limit: CHUNK,
    unread: only === "unread" || undefined,
    archived: only === "archived" || undefined,
    find,
  };
  const latest = useFetched(
    (signal) => read("sessions list", asking, { signal }),
    [only, find, changed.value],
  );
  const asked = useRef("");
  // Before anything is drawn: what came is there, and its rows are not.
  useLayoutEffect(() => {
    const came = latest.value;
    if (!came) return;
    const same = asked.current === `${only} ${find}`;
    asked.current = `${only} ${find}`;
    setRows((before) => (same ? renewed(before, came) : came));
    setWhole((before) => came.length < CHUNK || (same && before));
  }, [latest.value]);
  const more = async () => {
    if (busy.current || whole) return;
    busy.current = true;
    try {
      const next = await read("sessions list", { ...asking, skip: rows.length });
      const there = new Set(rows.map(({ key }) => key));
      setRows((before) => [...before, ...next.filter(({ key }) => !there.has(key))]);
      setWhole(next.length < CHUNK);
    } finally {
      busy.current = false;
    }
  };
  return { rows, whole, more, latest };
}

/** @param {string} key */
const channelOf = (key) => key.replace(/:.*/s, "");

/**
 * @param {{
 *   session: Session, chosen: boolean, index: number, count: number, find: string,
 * }} props
 */
function Row({ session, chosen, index, count, find }) {
  const { key, title, updated_at: at, run, waiting, pinned, found } = session;
  const unread = session.has_unread && !run && !(chosen && !document.hidden);
  const open = () => (sought.value = found ? { session: key, find } : null);
  return html`
    <li style=${{ top: `${index * ROW_REM}rem` }} aria-setsize=${count} aria-posinset=${index + 1}>
      <a
        href=${link("chat", key)}
        class=${unread ? "unread" : ""}
        aria-current=${chosen ? "true" : undefined}
        onClick=${open}
      >
        <span class=${`avatar c${hash(channelOf(key)) % 6}`} aria-hidden="true">
          ${channelOf(key).slice(0, 2)}
        </span>
        <span class="name">
          ${pinned && html`
            <span role="img" aria-label=${t("Pinned")}>
              <${Icon} name="pin" size=${13} />
            </span>
          `}
          ${title || key}
        </span>
        <${When} at=${at} />
        <span class="more">
          ${found ? html`<em>${found}</em>` : run ? html`
            <i class="pulse"></i>
            ${t("working")}
          ` : waiting ? (
            t("{n} waiting", { n: waiting })
          ) : (
            key
          )}
        </span>
        ${unread && html`<b class="mark" aria-label=${t("unread")}></b>`}
      </a>
      <${Manage} session=${session} />
    </li>
  `;
}

/** @param {string} text */
function hash(text) {
  let sum = 0;
  for (const letter of text) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  return sum;
}

function Top() {
  const begin = () => go("chat", `${me.value?.own ?? "web:"}${Date.now().toString(36)}`);
  return html`
    <header>
      <h1>${t("Chat")}</h1>
      <${Button} kind="main small" icon="plus" label=${t("New conversation")} onClick=${begin} />
    </header>
  `;
}

/** In the place of the list, where its plugin is off: a new conversation is begun all the same. */
export const NoList = () => html`
  <section class="conversations" aria-label=${t("Conversations")}>
    <${Top} />
    <${Off} plugin="conversations" />
  </section>
`;

/** @param {{ chosen: string }} props */
export function Conversations({ chosen }) {
  const [only, setOnly] = useState("all");
  const [text, setText] = useState("");
  const [wanted, setWanted] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text.trim()), PATIENCE);
    return () => clearTimeout(timer);
  }, [text]);
  const { rows, whole, more, latest } = useList(only, wanted);
  const { element, first, last, row } = useWindow(rows.length);
  useEffect(() => {
    if (!whole && rows.length && last > rows.length - 2 * BEYOND)
      more().catch((error) => complain(error));
  }, [last, rows.length, whole]);
  return html`
    <section class="conversations" aria-label=${t("Conversations")}>
      <${Top} />
      <div class="filters">
        <input
          type="search"
          placeholder=${t("Search")}
          aria-label=${t("Search conversations")}
          value=${text}
          onInput=${(event) => setText(event.currentTarget.value)}
        />
        <${Choice}
          label=${t("Which")}
          value=${only}
          options=${[
            ["all", t("All")],
            ["unread", t("Unread")],
            ["archived", t("Archived")],
          ]}
          onChange=${setOnly}
        />
      </div>
      <div class="rows" ref=${element} tabindex=${-1}>
        <${Fetched} of=${latest}>
          ${() =>
            rows.length ? html`
              <ul style=${{ height: `${rows.length * row}px` }}>
                ${rows
                  .slice(first, last)
                  .map((session, offset) => html`
                    <${Row}
                      key=${session.key}
                      session=${session}
                      chosen=${session.key === chosen}
                      index=${first + offset}
                      count=${whole ? rows.length : -1}
                      find=${wanted}
                    />
                  `)}
              </ul>
            ` : html`
              <p class="nothing">
                ${text
                  ? t("No conversation has “{text}” in its title or text.", { text })
                  : only === "all"
                    ? t("No conversations yet.")
                    : t("Nothing here")}
              </p>
            `
          }
        <//>
        <${Unreadable} of="sessions list" />
      </div>
    </section>
  `;
}
