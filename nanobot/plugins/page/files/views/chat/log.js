/**
 * The part of a conversation's log that is loaded: a window that moves over it as somebody reads.
 */

import { ApiError, readIn } from "../../api.js";
import { language } from "../../i18n.js";
import { useEffect, useRef, useState } from "../../lib.js";
import { watch } from "../../live.js";
import { after } from "../../running.js";
import { merged } from "../../thread.js";

const PAGE = 100;
/** Entries that are held, and drawn, at once: 100,000 cost as much as these. */
const MOST = 400;
const MOST_NOTICES = 100;
/** After these the log has more than before. */
const LASTING = new Set(["assistant_message", "tool_result", "approval", "end"]);

/** A conversation that nobody has begun is none that went wrong. @param {unknown} error */
const unlessNone = (error) => (error instanceof ApiError && error.status === 404 ? null : error);

/**
 * @typedef {import("../../thread.js").Entry} Entry
 * @typedef {import("../../thread.js").Notice} Notice
 * @typedef {import("../../thread.js").Remark} Remark
 * @typedef {import("../../running.js").Running} Running
 * @typedef {import("../../running.js").RunEvent} RunEvent
 * @typedef {{
 *   entries: Entry[], remarks: Remark[], last: number, loaded: boolean, error: unknown,
 *   row: import("../../gateway.js").SessionView | null,
 * }} Log `last`: how many there are in all; `row`: the conversation itself
 * @typedef {import("../../gateway.js").Snapshot} Snapshot
 * @typedef {Pick<Snapshot, "session" | "entries" | "remarks">} Page
 */

/**
 * @param {string} session
 * @param {import("../../gateway.js").Window} range
 */
const entriesOf = (session, range) => readIn(session, "entries", range);

/**
 * The remarks on entries that are loaded; a page has all those on its answers.
 * @param {Remark[]} known
 * @param {Page} page
 * @param {Entry[]} entries
 */
function remarked(known, page, entries) {
  const fresh = page.remarks ?? [];
  const looked = new Set(page.entries.map(({ seq }) => seq));
  const all = [...known.filter(({ entry }) => !looked.has(entry ?? 0)), ...fresh];
  if (!all.length) return known.length ? [] : known;
  const there = new Set(entries.map(({ seq }) => seq));
  return all.filter(({ entry }) => there.has(entry ?? 0));
}

/** The window on the log of a session, and how it moves. @param {string} session */
export function useLog(session) {
  const [log, setLog] = useState(
    /** @type {Log} */ ({
      entries: [],
      remarks: [],
      last: 0,
      loaded: false,
      error: null,
      row: null,
    }),
  );
  const now = useRef(log);
  const moving = useRef(/** @type {Promise<void> | null} */ (null));
  now.current = log;
  const put = (/** @type {(before: Log) => Log} */ change) =>
    setLog((before) => (now.current = change(before)));
  /** @param {Page} page @param {"old" | "new"} keep which end stays where the window is full */
  const take = (page, keep) =>
    put((before) => {
      const all = merged(before.entries, page.entries);
      const entries = keep === "old" ? all.slice(0, MOST) : all.slice(-MOST);
      return {
        entries,
        remarks: remarked(before.remarks, page, entries),
        last: Math.max(page.session?.entries ?? 0, before.last),
        loaded: true,
        error: null,
        row: page.session ?? before.row,
      };
    });
  const known = () => now.current.entries.at(-1)?.seq ?? 0;
  const behind = () => now.current.entries.length > 0 && known() < now.current.last;
  /** @param {() => Promise<unknown>} move */
  const begun = async (move) => {
    try {
      await move();
    } catch (error) {
      put((before) => ({ ...before, loaded: true, error: unlessNone(error) }));
    } finally {
      moving.current = null;
    }
  };
  /**
   * One move at a time: what was asked for twice would come twice.
   * @param {() => Promise<unknown>} move
   */
  const alone = (move) => (moving.current ??= begun(move));
  /** What is new; to somebody who reads further up only that there is something. */
  const latest = async () => {
    try {
      if (behind()) {
        const { session: row } = await entriesOf(session, { limit: 1 });
        put((before) => ({ ...before, row, last: Math.max(row?.entries ?? 0, before.last) }));
      } else {
        take(
          await entriesOf(session, known() ? { after: known(), limit: MOST } : { limit: PAGE }),
          "new",
        );
      }
    } catch (error) {
      put((before) => ({ ...before, loaded: true, error: unlessNone(error) }));
    }
  };
  /**
   * As a snapshot has it: the end of the log, or that there is none yet.
   * @param {Page} snapshot
   */
  const stands = ({ session: row, entries, remarks }) => {
    if (!row) return put((before) => ({ ...before, loaded: true }));
    // Between what is known and what came is a gap that only the store can fill.
    if (known() && entries.length && entries[0].seq > known() + 1) return latest();
    return take({ session: row, entries, remarks }, "new");
  };
  const older = () =>
    alone(async () => {
      const first = now.current.entries[0]?.seq ?? 1;
      if (first > 1) take(await entriesOf(session, { before: first, limit: PAGE }), "old");
    });
  const newer = () =>
    alone(async () => {
      if (behind()) take(await entriesOf(session, { after: known(), limit: PAGE }), "new");
    });
  /** The window at one end of the log. @param {"first" | "last"} end */
  const jump = async (end) => {
    while (moving.current) await moving.current;
    await alone(async () => {
      const page = await entriesOf(
        session,
        end === "first" ? { after: 0, limit: PAGE } : { limit: PAGE },
      );
      put((before) => ({ ...before, entries: [] }));
      take(page, "old");
    });
  };
  /** The window around an entry. @param {number} seq */
  const near = async (seq) => {
    while (moving.current) await moving.current;
    await alone(async () => {
      const page = await entriesOf(session, { after: Math.max(seq - PAGE / 2, 0), limit: PAGE });
      put((before) => ({ ...before, entries: [] }));
      take(page, "old");
    });
  };
  const spoken = useRef(language.value);
  useEffect(() => {
    if (spoken.current === language.value) return;
    // What is shown is read again, in the language of now.
    spoken.current = language.value;
    const first = now.current.entries[0]?.seq;
    if (first)
      alone(async () => take(await entriesOf(session, { after: first - 1, limit: MOST }), "new"));
  }, [language.value]);
  return {
    ...log,
    near,
    latest,
    stands,
    older,
    newer,
    jump,
    first: log.entries[0]?.seq ?? 1,
    behind: log.entries.length > 0 && (log.entries.at(-1)?.seq ?? 0) < log.last,
  };
}

/** Commands and their answers, which no log has. @param {string} session */
export function useNotices(session) {
  const [notices, setNotices] = useState(/** @type {Notice[]} */ ([]));
  const again = () =>
    readIn(session, "notices", { limit: MOST_NOTICES }).then(setNotices, () => undefined);
  useEffect(() => void again(), [session, language.value]);
  return { notices, again };
}

/** Before the next frame; where nobody looks there are none. @param {() => void} draw */
const soon = (draw) => (document.hidden ? setTimeout(draw) : requestAnimationFrame(draw));

/**
 * The run of the session that is alive, as its events tell of it.
 * @param {string} session @param {ReturnType<typeof useLog>} log @param {() => void} onNotice
 */
export function useRun(session, log, onNotice) {
  const [run, setRun] = useState(/** @type {Running | null} */ (null));
  // What listens lives as long as the conversation is looked at. It must see the log as it is then.
  const current = useRef(log);
  current.current = log;
  const heard = useRef(/** @type {RunEvent[]} */ ([]));
  /** All that was heard since the last frame is drawn at once: a text may come in many pieces. */
  const draw = () => {
    const events = heard.current;
    heard.current = [];
    if (events.length) setRun((before) => events.reduce(after, before));
  };
  const hear = (/** @type {RunEvent} */ event) => {
    if (!heard.current.length) soon(draw);
    heard.current.push(event);
    if (LASTING.has(event.kind)) current.current.latest();
    if (event.kind === "end")
      setTimeout(
        () => setRun((before) => (before?.id === event.run_id && before.ended ? null : before)),
        150,
      );
  };
  const resume = (/** @type {Snapshot} */ { session: row, entries, events, partial, remarks }) => {
    heard.current = [];
    setRun(null);
    current.current.stands({ session: row, entries, remarks });
    for (const event of events) setRun((before) => after(before, event));
    if (events.length && partial?.text)
      setRun((before) => before && { ...before, call: partial.call, text: partial.text });
  };
  useEffect(
    () =>
      watch(session, (item) => {
        if (item.type === "event") return hear(item.event);
        if (item.type === "snapshot") resume(item.snapshot);
        else current.current.latest();
        if (item.type !== "message" || item.message.kind === "notice") onNotice();
        return undefined;
      }),
    [session, language.value],
  );
  return { run, setRun };
}
