/** A conversation's log as people read it. Pure: entries go in, what is drawn comes out. */

/**
 * @typedef {import("./gateway.js").EntryView} Entry
 * @typedef {import("./gateway.js").Remark} Remark
 * @typedef {import("./gateway.js").NoticeView} Notice a command with its answer, or a refusal
 * @typedef {import("./gateway.js").Attachment} Attachment
 * @typedef {{
 *   call: number, index: number, name: string, arguments: string, result?: string, ok?: boolean,
 *   ms?: number, tainted?: boolean, started?: boolean,
 * }} Tool
 * @typedef {{ key: string, at: number, seq: number, runId: string }} Base
 * @typedef {Base & {
 *   type: "person", text: string, name: string, files: Attachment[], origin: string,
 * }} PersonItem
 * @typedef {Base & {
 *   type: "answer", text: string, reasoning?: string, partial?: boolean, model?: string,
 *   ms?: number, replaced?: boolean, remarks?: string[],
 * }} AnswerItem
 * @typedef {Base & { type: "post" | "notice" | "summary", text: string }} TextItem
 * @typedef {Base & { type: "note", tone: string, text: string, more?: string }} NoteItem
 * @typedef {Base & { type: "tools", tools: Tool[] }} ToolsItem
 * @typedef {Base & { type: "divider" | "erased" }} MarkItem
 * @typedef {PersonItem | AnswerItem | TextItem | NoteItem | ToolsItem | MarkItem} Item
 */

/** How some entries read as a note: its tone, its text, and more. @param {Entry["body"]} body */
function noteOf(body) {
  switch (body?.type) {
    case "fallback":
      return ["warning", body.text];
    case "failed":
    case "undelivered":
      return ["bad", body.text];
    case "overflow":
    case "denied":
    case "auxiliary_failed":
      return ["plain", body.text];
    case "cancel":
      return ["plain", "Cancelled"];
    case "decision":
      return [body.verdict === "denied" ? "bad" : "good", body.verdict, body.by];
    case "objection":
      return ["plain", "The model was asked again", body.text];
    case "recall":
      return ["plain", "Added from memory", body.text];
    default:
      return null;
  }
}

/**
 * What the calls of a reply have become so far, by the results behind it.
 * @param {string} runId
 * @param {import("./gateway.js").ReplyEntry} reply
 * @param {Map<string, import("./gateway.js").ToolResultEntry>} results
 * @param {Set<string>} started
 * @returns {Tool[]}
 */
function calls(runId, reply, results, started) {
  return (reply.tool_calls ?? []).map((call, index) => {
    const id = `${runId}:${reply.call}:${index}`;
    const result = results.get(id);
    return {
      call: reply.call,
      index,
      name: call.name,
      arguments: call.arguments,
      started: started.has(id),
      ...(result
        ? {
            result: result.text,
            ok: result.ok ?? true,
            ms: result.ms ?? 0,
            tainted: result.tainted,
          }
        : {}),
    };
  });
}

/**
 * @param {Entry[]} entries in order
 * @param {Remark[]} [remarks] what plugins remark on some of them
 * @returns {Item[]}
 */
export function itemsOf(entries, remarks = []) {
  const results = new Map();
  const started = new Set();
  const replaced = new Set();
  for (const { kind, body, run_id } of entries) {
    if (kind === "objection" && body) replaced.add(`${run_id}:${body.call}`);
    if (kind === "tool_result" && body) results.set(`${run_id}:${body.call}:${body.index}`, body);
    if (kind === "tool_started" && body) started.add(`${run_id}:${body.call}:${body.index}`);
  }
  /** @type {Item[]} */
  const items = [];
  const profiles = new Map();
  const shownResults = new Set();
  for (const entry of entries) {
    const { seq, run_id: runId, at, kind, body } = entry;
    const base = { key: String(seq), seq, at, runId };
    if (body === null) {
      items.push({ ...base, type: "erased" });
    } else if (kind === "user") {
      const name = body.sender_name || body.sender_id;
      items.push({
        ...base,
        type: "person",
        text: body.text,
        name,
        files: body.attachments ?? [],
        origin: body.origin ?? "user",
      });
    } else if (kind === "model_call") {
      profiles.set(`${runId}:${body.call}`, body.profile?.name);
    } else if (kind === "reply") {
      const model = profiles.get(`${runId}:${body.call}`);
      if (body.text || body.reasoning) {
        items.push({
          ...base,
          type: "answer",
          text: body.text,
          reasoning: body.reasoning,
          partial: body.partial,
          model,
          ms: body.ms,
          replaced: replaced.has(`${runId}:${body.call}`),
          remarks: remarks.filter((each) => each.entry === seq).map(({ text }) => text),
        });
      }
      const tools = calls(runId, body, results, started);
      for (const tool of tools) shownResults.add(`${runId}:${tool.call}:${tool.index}`);
      if (tools.length) items.push({ ...base, key: `${seq}-tools`, type: "tools", tools });
    } else if (kind === "tool_result" && !shownResults.has(`${runId}:${body.call}:${body.index}`)) {
      // Its reply is above what is loaded.
      const tool = { ...body, arguments: "", result: body.text, ok: body.ok ?? true };
      items.push({ ...base, type: "tools", tools: [tool] });
    } else if (kind === "post") {
      items.push({ ...base, type: "post", text: body.text });
    } else if (kind === "summary") {
      items.push({ ...base, type: "summary", text: body.text });
    } else if (kind === "window_reset") {
      items.push({ ...base, type: "divider" });
    } else {
      const note = noteOf(body);
      if (note) items.push({ ...base, type: "note", tone: note[0], text: note[1], more: note[2] });
    }
  }
  return items;
}

/**
 * With newer or older entries: each once, in order.
 * @param {Entry[]} known
 * @param {Entry[]} more
 */
export function merged(known, more) {
  if (!more.length) return known;
  const bySeq = new Map(known.map((entry) => [entry.seq, entry]));
  for (const entry of more) bySeq.set(entry.seq, entry);
  return [...bySeq.values()].sort((one, other) => one.seq - other.seq);
}

/**
 * The items with the notices that came between them. What is older or newer than what is loaded
 * stands with it where the log `begins` or `ends` there.
 * @param {Item[]} items
 * @param {Notice[]} notices
 * @param {{ begins: boolean, ends: boolean }} loaded
 * @returns {Item[]}
 */
export function withNotices(items, notices, { begins, ends }) {
  const from = begins ? -Infinity : (items[0]?.at ?? Infinity);
  const to = ends ? Infinity : (items.at(-1)?.at ?? -Infinity);
  const between = notices.filter(({ at }) => at >= from && at <= to);
  if (!between.length) return items;
  /** @type {Item[]} */
  const more = between.flatMap(({ id, at, said, by, text }) => [
    ...(said
      ? [
          /** @type {Item} */ ({
            type: "person",
            key: `notice-${id}-said`,
            at,
            seq: 0,
            runId: "",
            text: said,
            name: by,
            files: [],
            origin: "user",
          }),
        ]
      : []),
    /** @type {Item} */ ({ type: "notice", key: `notice-${id}`, at, seq: 0, runId: "", text }),
  ]);
  // In the order of time, and as they were at the same time: what was said before its answer.
  return [...items, ...more]
    .map((item, index) => ({ item, index }))
    .sort((one, other) => one.item.at - other.item.at || one.index - other.index)
    .map(({ item }) => item);
}
