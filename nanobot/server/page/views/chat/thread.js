/** One conversation: its log by range, the run that goes on, and what is said next. */

import { change, conversation, get, post } from "../../api.js";
import { day } from "../../format.js";
import { t } from "../../i18n.js";
import { Fragment, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../lib.js";
import { watch } from "../../live.js";
import { Button, Empty } from "../../parts/basics.js";
import { Markdown } from "../../parts/markdown.js";
import { tell } from "../../parts/notices.js";
import { go } from "../../router.js";
import { after } from "../../running.js";
import { itemsOf, merged } from "../../thread.js";
import { Composer } from "./composer.js";
import { Context } from "./context.js";
import { Item } from "./items.js";
import { Now } from "./now.js";
import { Questions } from "./questions.js";

const PAGE = 100;
const MOST = 500;
const NEAR = 120;
/** After these the log has more than before. */
const LASTING = new Set(["assistant_message", "tool_result", "approval", "end"]);

const entriesOf = (session, range) => get(`${conversation(session)}/entries`, range);

/** The part of the log that is loaded, and how to load more of it. */
function useLog(session) {
  const [log, setLog] = useState({ entries: [], first: 1, last: 0, loaded: false, error: null });
  const now = useRef(log);
  now.current = log;
  const take = (page, keep) =>
    setLog((before) => {
      const all = merged(before.entries, page.entries);
      const entries = keep === "old" ? all.slice(0, MOST) : all.slice(-MOST);
      return { ...before, entries, last: page.session?.entries ?? before.last, loaded: true, error: null };
    });
  const latest = async () => {
    const { entries, loaded } = now.current;
    const known = entries.at(-1)?.seq ?? 0;
    try {
      take(await entriesOf(session, loaded && entries.length ? { after: known, limit: MOST } : { limit: PAGE }), "new");
    } catch (error) {
      setLog((before) => ({ ...before, loaded: true, error: error.status === 404 ? null : error }));
    }
  };
  /** As a snapshot has it: the end of the log, or that there is none yet. */
  const stands = ({ session: row, entries }) => {
    if (!row) return setLog((before) => ({ ...before, loaded: true }));
    const known = now.current.entries.at(-1)?.seq ?? 0;
    // Between what is known and what came is a gap that only the store can fill.
    if (known && entries.length && entries[0].seq > known + 1) return latest();
    take({ session: row, entries }, "new");
    return undefined;
  };
  const older = async () => {
    const first = now.current.entries[0]?.seq ?? 1;
    if (first > 1) take(await entriesOf(session, { before: first, limit: PAGE }), "old");
  };
  const jump = async () => {
    setLog((before) => ({ ...before, entries: [], loaded: false }));
    now.current = { ...now.current, entries: [], loaded: false };
    await latest();
  };
  return { ...log, latest, stands, older, jump, behind: (log.entries.at(-1)?.seq ?? 0) < log.last };
}

/** The run of the session that is alive, as its events tell of it. */
function useRun(session, log) {
  const [run, setRun] = useState(null);
  const [notices, setNotices] = useState([]);
  const hear = (event) => {
    setRun((before) => after(before, event));
    if (LASTING.has(event.kind)) log.latest();
    if (event.kind === "end") setTimeout(() => setRun((before) => (before?.id === event.run_id && before.ended ? null : before)), 150);
  };
  const resume = ({ session: row, entries, events, partial }) => {
    setRun(null);
    log.stands({ session: row, entries });
    for (const event of events) setRun((before) => after(before, event));
    if (events.length && partial?.text) setRun((before) => before && { ...before, call: partial.call, text: partial.text });
  };
  useEffect(
    () =>
      watch(session, (item) => {
        if (item.type === "event") hear(item.event);
        else if (item.type === "snapshot") resume(item.snapshot);
        else log.latest();
        if (item.type === "message" && item.message.kind === "notice") setNotices((before) => [...before.slice(-20), { ...item.message, id: item.id }]);
      }),
    [session],
  );
  return { run, setRun, notices };
}

/** Stay at the end while somebody reads there, and nowhere else. */
function useBottom(watched) {
  const element = useRef(null);
  const at = useRef(true);
  const [away, setAway] = useState(false);
  const look = () => {
    const { scrollTop, scrollHeight, clientHeight } = element.current;
    at.current = scrollHeight - scrollTop - clientHeight < NEAR;
    setAway(!at.current);
  };
  useLayoutEffect(() => {
    if (at.current && element.current) element.current.scrollTop = element.current.scrollHeight;
  }, watched);
  const down = () => {
    at.current = true;
    element.current.scrollTop = element.current.scrollHeight;
  };
  return { element, look, away, down };
}

function Head({ session, title, onContext, onCompact, onNew }) {
  return html`<header class="threadhead">
    <a class="button bare back" href="#/chat" aria-label=${t("All conversations")}>‹</a>
    <div><h2>${title || session}</h2><p>${session}</p></div>
    <${Button} kind="bare" icon="info" label=${t("What the model would be sent")} onClick=${onContext} />
    <${Button} kind="bare" onClick=${onCompact} title=${t("Sum up what is old")}>${t("Compact")}<//>
    <${Button} kind="bare" onClick=${onNew} title=${t("Begin anew: what was said before is not shown to the model")}>${t("Start over")}<//>
  </header>`;
}

/** The days' names stand between their items. */
const dated = (items) =>
  items.map((item, index) => {
    const name = day(item.at);
    return { item, name: index === 0 || day(items[index - 1].at) !== name ? name : "" };
  });

export function Thread({ session }) {
  const log = useLog(session);
  const { run, setRun, notices } = useRun(session, log);
  const [context, setContext] = useState(false);
  const [draft, setDraft] = useState(null);
  const [sending, setSending] = useState([]);
  const items = useMemo(() => itemsOf(log.entries), [log.entries]);
  const bottom = useBottom([items, run, sending]);
  useEffect(() => {
    if (log.entries.length && !document.hidden) change("sessions mark-read", { session }).catch(() => undefined);
  }, [session, log.last]);
  useEffect(() => {
    const said = new Set(log.entries.filter((entry) => entry.kind === "user").map((entry) => entry.body?.message_id));
    setSending((before) => before.filter(({ key, at }) => !said.has(key) && !log.entries.some((entry) => entry.kind === "user" && entry.at >= at - 2)));
  }, [log.entries]);

  const send = async (message) => {
    bottom.down();
    setSending((before) => [...before, { ...message, at: Date.now() / 1000 }]);
    try {
      await post(`${conversation(session)}/messages`, { text: message.text, client_request_id: message.key, attachments: message.files });
      log.latest();
    } catch (error) {
      setSending((before) => before.filter(({ key }) => key !== message.key));
      setDraft({ text: message.text, at: Date.now() });
      throw error;
    }
  };
  const stop = () => change("stop", { session });
  const retry = (item) => setDraft({ text: item.text, at: Date.now(), send: true });
  const older = async (event) => {
    const { scrollHeight, scrollTop } = bottom.element.current;
    await log.older();
    requestAnimationFrame(() => {
      bottom.element.current.scrollTop = scrollTop + bottom.element.current.scrollHeight - scrollHeight;
    });
    event?.target.blur?.();
  };
  const first = log.entries[0]?.seq ?? 1;
  const title = items.find((item) => item.type === "person")?.text.slice(0, 60);
  return html`<section class="thread" aria-label=${t("Conversation {name}", { name: session })}>
    <${Head} session=${session} title=${title} onContext=${() => setContext(true)}
      onCompact=${async () => (await change("compact", { session }), tell(t("It is being summed up.")))}
      onNew=${async () => (await change("new", { session }), log.latest())} />
    <div class="scroller" ref=${bottom.element} onScroll=${bottom.look} tabindex="0" role="log" aria-live="polite" aria-relevant="additions" aria-label=${t("Messages")}>
      <div class="messages">
        ${first > 1 && html`<div class="older"><${Button} onClick=${older}>${t("Show what was before")}<//></div>`}
        ${log.error && html`<p class="bad" role="alert">${log.error.message}</p>`}
        ${log.loaded && !items.length && !run && !sending.length && html`<${Empty} icon="chat" title=${t("What shall we talk about?")}>${t("Write below. Files may be dropped here.")}<//>`}
        ${dated(items).map(
          ({ item, name }) => html`<${Fragment} key=${item.key}>${name && html`<h3 class="day">${name}</h3>`}
            <${Item} item=${item} onRetry=${retry} onEdit=${(text) => setDraft({ text, at: Date.now() })} /><//>`,
        )}
        ${sending.map((message) => html`<div key=${message.key} class="message person sending"><div class="bubble">${message.text}</div></div>`)}
        ${run && !run.ended && html`<${Now} run=${run} />`}
        ${notices.map((notice) => html`<article key=${notice.id} class="message answer"><${Markdown} text=${notice.text} /></article>`)}
        <${Questions} session=${session} version=${log.entries.length} onDecided=${() => setRun((before) => before && { ...before, approval: null })} />
      </div>
    </div>
    ${(bottom.away || log.behind) && html`<button type="button" class="down" onClick=${async () => (log.behind && (await log.jump()), bottom.down())}>${t("To the latest")}</button>`}
    <${Composer} session=${session} draft=${draft} running=${run && !run.ended} onSend=${send} onStop=${stop} onGone=${() => go("chat")} />
    ${context && html`<${Context} session=${session} onClose=${() => setContext(false)} />`}
  </section>`;
}
