/** One conversation: its log by range, the run that goes on, and what is said next. */

import { change, may, postIn } from "../../api.js";
import { day } from "../../format.js";
import { language, t } from "../../i18n.js";
import {
  Fragment,
  html,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../../lib.js";
import { Button, Empty, Loading, said } from "../../parts/basics.js";
import { tell } from "../../parts/notices.js";
import { itemsOf, withNotices } from "../../thread.js";
import { useSought } from "../../sought.js";
import { Composer } from "./composer.js";
import { Item } from "./items.js";
import { Manage } from "./manage.js";
import { useLog, useNotices, useRun } from "./log.js";
import { Now } from "./now.js";
import { Questions } from "./questions.js";
import { useReading } from "./scroll.js";

/**
 * @param {{
 *   session: string, row: import("../../gateway.js").SessionView | null, onDone: () => void,
 *   onContext: () => void, onCompact: () => void,
 *   onNew: () => void,
 * }} props
 */
function Head({ session, row, onDone, onContext, onCompact, onNew }) {
  return html`
    <header class="threadhead">
      ${(may("sessions list") || may("compact")) && html`
        <a class="button bare back" href="#/chat" aria-label=${t("All conversations")}>
          ‹
        </a>
      `}
      <div>
        <h2>${row?.title || session}</h2>
        <p>${session}</p>
      </div>
      ${may("context show") && html`
        <${Button}
          kind="bare"
          icon="info"
          label=${t("What the model would be sent")}
          onClick=${onContext}
        />
      `}
      ${may("compact") && html`
        <${Button} kind="bare" onClick=${onCompact} title=${t("Summarize older messages")}>
          ${t("Compact")}
        <//>
      `}
      <${Button}
        kind="bare"
        onClick=${onNew}
        title=${t("Start again: the model no longer sees earlier messages")}
      >
        ${t("Start over")}
      <//>
      ${row && html`
        <${Manage}
          key=${`${row.title} ${row.pinned} ${row.archived}`}
          session=${row}
          onDone=${onDone}
        />
      `}
    </header>
  `;
}

/**
 * Somebody looks at a conversation while it is open and the page can be seen: then it is read, up
 * to the entry that is shown last.
 * @param {string} session @param {number} entry @param {unknown} notices
 */
function useLooking(session, entry, notices) {
  useEffect(() => {
    const look = () => {
      if (entry && !document.hidden && may("sessions mark-read"))
        change("sessions mark-read", { session, entry }).catch(() => undefined);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [session, entry, notices]);
}

/** The days' names stand between their items. @param {import("../../thread.js").Item[]} items */
const dated = (items) =>
  items.map((item, index) => {
    const name = day(item.at);
    return { item, name: index === 0 || day(items[index - 1].at) !== name ? name : "" };
  });

/**
 * @typedef {{ text: string, files: import("../../gateway.js").SentFile[], key: string }} Message
 * @typedef {Message & { at: number }} Sending
 * @typedef {{ text: string, at: number, send?: boolean }} Draft
 */

/**
 * What was sent and is not in the log yet: it is there by the key that went along, or answered by
 * one.
 * @param {{ entries: import("../../thread.js").Entry[] }} log
 * @param {import("../../thread.js").Notice[]} notices
 */
function useSending(log, notices) {
  const [sending, setSending] = useState(/** @type {Sending[]} */ ([]));
  useEffect(() => {
    const there = new Set(
      log.entries.map((entry) => entry.kind === "user" && entry.body?.message_id),
    );
    const answered = (/** @type {Sending} */ { key }) =>
      notices.some((notice) => notice.key.endsWith(`:${key}`));
    const followed = (/** @type {Sending} */ { at }) =>
      log.entries.some((entry) => entry.kind === "user" && entry.at >= at - 2);
    setSending((before) =>
      before.filter(
        (message) => !there.has(message.key) && !answered(message) && !followed(message),
      ),
    );
  }, [log.entries, notices]);
  return /** @type {const} */ ([sending, setSending]);
}

/** @param {{ session: string }} props */
export function Thread({ session }) {
  const log = useLog(session);
  const { notices, again } = useNotices(session);
  const { run, setRun } = useRun(session, log, again);
  const [context, setContext] = useState(
    /** @type {typeof import("./context.js") | null} */ (null),
  );
  const Context = context?.Context;
  const [draft, setDraft] = useState(/** @type {Draft | null} */ (null));
  const [sending, setSending] = useSending(log, notices);
  const items = useMemo(
    () =>
      withNotices(itemsOf(log.entries, log.remarks), notices, {
        begins: log.first <= 1,
        ends: !log.behind,
      }),
    [log.entries, log.remarks, notices, log.behind],
  );
  const reading = useReading([items, run, sending], {
    more: log.first > 1,
    behind: log.behind,
    older: log.older,
    newer: log.newer,
  });
  useLooking(session, log.entries.at(-1)?.seq ?? 0, notices);

  const goal = useSought(session);
  const marked = goal ? items.find(({ seq }) => seq >= goal)?.key : undefined;
  const reached = useRef(0);
  useEffect(() => {
    const { entries } = log;
    const there = entries.length && entries[0].seq <= goal && (entries.at(-1)?.seq ?? 0) >= goal;
    if (goal && log.loaded && entries.length && !there) log.near(goal);
  }, [goal, log.loaded]);
  useLayoutEffect(() => {
    const node = marked && reading.element.current?.querySelector(".here");
    if (!node || reached.current === goal) return;
    reached.current = goal;
    reading.show(node);
  }, [goal, marked, items]);

  const to = async (/** @type {"first" | "last"} */ end) => {
    if (end === "first" ? log.first > 1 : log.behind) await log.jump(end);
    reading.to(end);
  };
  const send = async (/** @type {Message} */ message) => {
    to("last");
    setSending((before) => [...before, { ...message, at: Date.now() / 1000 }]);
    try {
      await postIn(session, "messages", {
        text: message.text,
        client_request_id: message.key,
        attachments: message.files,
      });
      log.latest();
    } catch (error) {
      setSending((before) => before.filter(({ key }) => key !== message.key));
      setDraft({ text: message.text, at: Date.now() });
      throw error;
    }
  };
  const stop = () => change("stop", { session });
  const retry = (/** @type {import("../../thread.js").PersonItem} */ item) =>
    setDraft({ text: item.text, at: Date.now(), send: true });
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (!event.ctrlKey || !["Home", "End"].includes(event.key)) return;
    event.preventDefault();
    to(event.key === "Home" ? "first" : "last");
  };
  const away = reading.away || log.behind;
  const empty = log.loaded && !items.length && !run && !sending.length && !log.error;
  // The same elements while an answer grows: nothing of them is looked at again.
  const shown = useMemo(
    () =>
      dated(items).map(({ item, name }) => html`
        <${Fragment} key=${item.key}>
          ${name && html`<h3 class="day">${name}</h3>`}
          ${item.key === marked && html`<p class="here">${t("Found here")}</p>`}
          <${Item}
            item=${item}
            onRetry=${retry}
            onEdit=${(/** @type {string} */ text) => setDraft({ text, at: Date.now() })}
          />
        <//>
      `),
    [items, marked, language.value],
  );
  return html`
    <section class="thread" aria-label=${t("Conversation {name}", { name: session })}>
      <${Head}
        session=${session}
        row=${log.row}
        onDone=${log.latest}
        onContext=${async () => setContext(await import("./context.js"))}
        onCompact=${async () => (
          await change("compact", { session }),
          tell(t("It is being summed up."))
        )}
        onNew=${async () => (await change("new", { session }), log.latest())}
      />
      <div
        class="scroller"
        ref=${reading.element}
        onScroll=${reading.look}
        onKeyDown=${press}
        tabindex=${0}
        role="log"
        aria-live="polite"
        aria-relevant="additions"
        aria-label=${t("Messages")}
      >
        <div class="messages">
          ${log.first > 1 && html`
            <div class="older">
              <${Button} onClick=${log.older}>${t("Show earlier messages")}<//>
            </div>
          `}
          ${log.error && html`
            <p class="bad" role="alert">
              ${said(log.error)}${" "}
              <${Button} kind="small" onClick=${log.latest}>
                ${t("Try again")}
              <//>
            </p>
          `}
          ${!log.loaded && html`<${Loading} rows=${5} />`}
          ${empty && html`
            <${Empty} icon="chat" title=${t("What shall we talk about?")}>
              ${t("Write below. Files may be dropped here.")}
            <//>
          `}
          ${shown}
          ${sending.map((message) => html`
            <div key=${message.key} class="message person sending">
              <div class="bubble">${message.text}</div>
            </div>
          `)}
          ${run && !run.ended && html`<${Now} run=${run} />`}
          <${Questions}
            session=${session}
            version=${log.entries.length}
            onDecided=${() => setRun((before) => before && { ...before, approval: null })}
          />
        </div>
      </div>
      ${away && log.first > 1 && html`
        <button type="button" class="jump up" onClick=${() => to("first")}>
          ${t("To the beginning")}
        </button>
      `}
      ${away && html`
        <button type="button" class="jump down" onClick=${() => to("last")}>
          ${t("To the latest")}
        </button>
      `}
      <${Composer}
        session=${session}
        draft=${draft}
        running=${Boolean(run && !run.ended)}
        onSend=${send}
        onStop=${stop}
      />
      ${Context && html`<${Context} session=${session} onClose=${() => setContext(null)} />`}
    </section>
  `;
}
