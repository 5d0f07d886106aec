/** "Go to": views, conversations and jobs by a few letters of their names. */

import { may, read } from "../api.js";
import { t } from "../i18n.js";
import { html, signal, useLayoutEffect, useMemo, useRef, useState } from "../lib.js";
import { go } from "../router.js";
import { Icon } from "./icons.js";

/**
 * @typedef {Record<string, { name: string, icon: string }>} Views
 * @typedef {{ view: string, what: string, icon: string, text: string, more: string }} Place
 */

export const palette = signal(false);
const MOST = 12;

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
  const matching = useMemo(() => {
    const wanted = text.toLowerCase();
    return all
      .filter((one) => `${one.text} ${one.more}`.toLowerCase().includes(wanted))
      .slice(0, MOST);
  }, [all, text]);
  const close = () => (palette.value = false);
  const open = (/** @type {Place | undefined} */ one) => (close(), one && go(one.view, one.what));
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
        placeholder=${t("A view, a conversation or a job")}
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
