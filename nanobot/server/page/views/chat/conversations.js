/** The list of conversations: those that changed last first, however many there are. */

import { read } from "../../api.js";
import { ago } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useEffect, useRef, useState } from "../../lib.js";
import { changed } from "../../live.js";
import { Button, Choice, Fetched, useFetched } from "../../parts/basics.js";
import { go, link } from "../../router.js";

const ROW = 62;
const BEYOND = 8;
const MOST = 1_000;
const PATIENCE = 200;

/** The rows that can be seen, and a little more: 5,000 conversations cost as much as 20. */
function useWindow(length) {
  const element = useRef(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const list = element.current;
    if (!list) return undefined;
    const look = () => setView({ top: list.scrollTop, height: list.clientHeight });
    const watching = new ResizeObserver(look);
    watching.observe(list);
    list.addEventListener("scroll", look, { passive: true });
    return () => (watching.disconnect(), list.removeEventListener("scroll", look));
  }, []);
  const first = Math.max(Math.floor(view.top / ROW) - BEYOND, 0);
  return { element, first, last: Math.min(Math.ceil((view.top + view.height) / ROW) + BEYOND, length) };
}

const channelOf = (key) => key.split(":")[0];

function Row({ session, chosen, index, count }) {
  const { key, title, has_unread: unread, updated_at: at, run, waiting } = session;
  return html`<li style=${{ top: `${index * ROW}px` }} aria-setsize=${count} aria-posinset=${index + 1}>
    <a href=${link("chat", key)} class=${unread ? "unread" : ""} aria-current=${chosen ? "true" : undefined}>
      <span class=${`avatar c${hash(channelOf(key)) % 6}`} aria-hidden="true">${channelOf(key).slice(0, 2)}</span>
      <span class="name">${title || key}</span>
      <time datetime=${new Date(at * 1000).toISOString()}>${ago(at)}</time>
      <span class="more">${run ? html`<i class="pulse"></i>${t("working")}` : waiting ? t("{n} waiting", { n: waiting }) : key}</span>
      ${unread && html`<b class="mark" aria-label=${t("unread")}></b>`}
    </a></li>`;
}

function hash(text) {
  let sum = 0;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)) >>> 0;
  return sum;
}

export function Conversations({ chosen }) {
  const [only, setOnly] = useState("all");
  const [text, setText] = useState("");
  const [wanted, setWanted] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text.trim()), PATIENCE);
    return () => clearTimeout(timer);
  }, [text]);
  const list = useFetched((signal) => read("sessions list", { limit: MOST, unread: only === "unread", find: wanted }, { signal }), [only, wanted, changed.value]);
  const shown = list.value ?? [];
  const { element, first, last } = useWindow(shown.length);
  const begin = () => go("chat", `web:${Date.now().toString(36)}`);
  return html`<section class="conversations" aria-label=${t("Conversations")}>
    <header>
      <h1>${t("Chat")}</h1>
      <${Button} kind="main small" icon="plus" label=${t("New conversation")} onClick=${begin} />
    </header>
    <div class="filters">
      <input type="search" placeholder=${t("Search")} aria-label=${t("Search conversations")} value=${text} onInput=${(event) => setText(event.target.value)} />
      <${Choice} label=${t("Which")} value=${only} options=${[["all", t("All")], ["unread", t("Unread")]]} onChange=${setOnly} />
    </div>
    <div class="rows" ref=${element} tabindex="-1">
      <${Fetched} of=${list}>${() =>
        shown.length
          ? html`<ul style=${{ height: `${shown.length * ROW}px` }}>
              ${shown.slice(first, last).map(
                (session, offset) => html`<${Row} key=${session.key} session=${session} chosen=${session.key === chosen} index=${first + offset} count=${shown.length} />`,
              )}
            </ul>`
          : html`<p class="nothing">${text ? t("No conversation has “{text}” in its name.", { text }) : t("Nobody has said anything yet.")}</p>`}<//>
    </div>
  </section>`;
}
