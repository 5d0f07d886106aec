/** When a run did what. Pure: its entries go in, bars over time come out. */

/**
 * @typedef {{
 *   lane: "model" | "tool" | "wait", name: string, from: number, to: number, ok: boolean,
 *   seq: number,
 * }} Bar
 */

/**
 * @param {{ created_at: number, ended_at: number | null }} run
 * @param {import("./thread.js").Entry[]} entries
 * @returns {{ bars: Bar[], from: number, to: number }}
 */
export function timelineOf(run, entries, now = Date.now() / 1000) {
  /** @type {Bar[]} */
  const bars = [];
  /** @type {Map<number, { at: number, name: string }>} */
  const open = new Map();
  /** @type {Map<number, { at: number, seq: number }>} */
  const asked = new Map();
  let latest = 0;
  const from = run.created_at;
  const to = Math.max(run.ended_at ?? now, from + 0.001);
  const [first] = entries;
  if (first && first.at - from > 0.05)
    bars.push({ lane: "wait", name: "queued", from, to: first.at, ok: true, seq: 0 });
  for (const { kind, body, at, seq } of entries) {
    if (!body) continue;
    if (kind === "model_call") {
      open.set(body.call, { at, name: body.profile.name });
      latest = body.call;
    }
    if (kind === "reply" || kind === "fallback") {
      // A fallback is about the call before it.
      const number = kind === "reply" ? body.call : latest;
      const call = open.get(number) ?? { at: at - (body.ms ?? 0) / 1_000, name: "model" };
      bars.push({
        lane: "model",
        name: call.name,
        from: call.at,
        to: at,
        ok: kind === "reply" && !body.partial,
        seq,
      });
      open.delete(number);
    }
    if (kind === "tool_result")
      bars.push({
        lane: "tool",
        name: body.name,
        from: at - (body.ms ?? 0) / 1_000,
        to: at,
        ok: body.ok ?? true,
        seq,
      });
    if (kind === "approval") asked.set(body.id, { at, seq });
    if (kind === "decision") {
      const since = asked.get(body.id);
      if (since)
        bars.push({
          lane: "wait",
          name: body.verdict,
          from: since.at,
          to: at,
          ok: body.verdict !== "denied",
          seq,
        });
      asked.delete(body.id);
    }
  }
  for (const { at, name } of open.values())
    bars.push({ lane: "model", name, from: at, to, ok: true, seq: 0 });
  for (const { at, seq } of asked.values())
    bars.push({ lane: "wait", name: "waiting", from: at, to, ok: true, seq });
  return { bars, from, to };
}
