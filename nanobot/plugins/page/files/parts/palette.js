/** "Go to": views, conversations and jobs by their names, and what plugins find. */

import { may, me, read } from "../api.js";
import { t } from "../i18n.js";
import { html, signal, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib.js";
import { go } from "../router.js";
import { sought } from "../sought.js";
import { Icon } from "./icons.js";

/**
 * @typedef {Record<string, { name: string, icon: string }>} Views
 * @typedef {{
 *   view: string, what: string, icon: string, text: string, more: string, seq?: number,
 * }} Place `seq`: the message that a conversation is opened at
 */

export const palette = signal(false);
const MOST = 12;
const PATIENCE = 200;

/** @param {Views} views @returns {Place[]} */
const own = (views) =>
  Object.entries(views).map(([view, { name, icon }]) => ({
    view,
    what: "",
    icon,
    text: t(name),
    more: "",
  }));

/** @param {Views} views @returns {Promise<Place[]>} */
async function places(views) {
  const [sessions, jobs] = await Promise.allSettled([
    may("sessions list") ? read("sessions list", { limit: 500 }) : [],
    may("cron list") ? read("cron list", { limit: 200 }) : [],
  ]);
  const chats = sessions.status === "fulfilled" ? sessions.value : [];
  const scheduled = jobs.status === "fulfilled" ? jobs.value : [];
  return [
    ...own(views),
    ...chats.map(({ key, title }) => ({
      view: "chat",
      what: key,
      icon: "chat",
      text: title || key,
      more: key,
    })),
    ...scheduled.map(({ id, name }) => ({
      view: "schedule",
      what: String(id),
      icon: "schedule",
      text: name,
      more: t("job"),
    })),
  ];
}

/**
 * The places that plugins find with these words. One that fails finds none.
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {Promise<Place[]>}
 */
async function findings(text, signal) {
  const finders = (me.value?.views ?? []).filter(({ place }) => place === "palette");
  if (!finders.length) return [];
  const { made } = await import("../kit.js");
  const finding = finders.map(async (view) => (await made(view)).default(text, signal));
  const found = await Promise.allSettled(finding);
  return found.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
}

/** What plugins find with these words. @param {string} text */
function useFound(text) {
  const [found, setFound] = useState(/** @type {Place[]} */ ([]));
  useEffect(() => {
    setFound([]);
    const control = new AbortController();
    const look = async () => {
      const places = await findings(text, control.signal);
      if (!control.signal.aborted) setFound(places);
    };
    const timer = setTimeout(() => look().catch(() => undefined), PATIENCE);
    return () => (clearTimeout(timer), control.abort());
  }, [text]);
  return found;
}

/** @param {{ views: Views }} props */
export function Palette({ views }) {
  const [all, setAll] = useState(() => own(views));
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  // Before the next key: what is drawn comes later, and letters would go elsewhere until then.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    places(views).then(setAll);
    return () => dialog?.close(); // the focus goes back to where it was
  }, []);
  const found = useFound(text);
  const matching = useMemo(() => {
    const wanted = text.toLowerCase();
    const named = all.filter((one) => `${one.text} ${one.more}`.toLowerCase().includes(wanted));
    return [...named.slice(0, MOST - found.length), ...found];
  }, [all, text, found]);
  const close = () => (palette.value = false);
  const open = (/** @type {Place | undefined} */ one) => {
    close();
    if (!one) return;
    sought.value = one.seq ? { session: one.what, seq: one.seq } : null;
    go(one.view, one.what);
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && matching.length) {
      event.preventDefault();
      setAt((at + step + matching.length) % matching.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(matching[at]);
    }
  };
  return html`
    <dialog
      ref=${element}
      class="palette"
      aria-label=${t("Go to")}
      onCancel=${close}
      onMouseDown=${(event) => event.target === element.current && close()}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="places"
        aria-label=${t("Go to")}
        placeholder=${t("A view, a conversation, a job or anything said")}
        aria-activedescendant=${matching.length ? `place-${at}` : undefined}
        value=${text}
        onInput=${(event) => (setText(event.currentTarget.value), setAt(0))}
        onKeyDown=${press}
        autofocus
      />
      <ul id="places" role="listbox" aria-label=${t("Places")}>
        ${matching.map((one, index) => html`
          <li
            id=${`place-${index}`}
            role="option"
            aria-selected=${index === at}
            onClick=${() => open(one)}
            onMouseMove=${() => setAt(index)}
          >
            <${Icon} name=${one.icon} />
            <span>${one.text}</span>
            <small>${one.more}</small>
          </li>
        `)}
      </ul>
    </dialog>
  `;
}
