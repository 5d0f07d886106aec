/** What a run is doing now, by its events. Pure: an event and what was, to what is. */

/**
 * @typedef {import("./gateway.js").RunEvent} RunEvent
 * @typedef {import("./gateway.js").RunPayload} Payload
 * @typedef {{
 *   id: string, seq: number, call: number, state: string, text: string, reasoning: string,
 *   since: number,
 *   tools: { key: string, name: string, arguments: string, ok?: boolean, ms?: number }[],
 *   approval: Payload | null, told: string, ended: boolean,
 * }} Running
 */

/** @param {RunEvent} event @returns {Running} */
const fresh = (event) => ({
  id: event.run_id,
  seq: -1,
  call: event.model_call,
  state: "running",
  text: "",
  reasoning: "",
  since: event.at,
  tools: [],
  approval: null,
  told: "",
  ended: false,
});

/** @type {Partial<Record<RunEvent["kind"], (run: Running, payload: Payload) => Running>>} */
const CHANGES = {
  status: (run, { state = run.state, why = "", text, model }) => ({
    ...run,
    state,
    told: state === "retrying" ? why : state === "fallback" ? `${model}: ${why}` : (text ?? ""),
    text: state === "objected" ? "" : run.text,
    approval: state === "running" ? null : run.approval,
  }),
  model_delta: (run, { text, reasoning }) => ({
    ...run,
    state: "running",
    told: "",
    text: run.text + (text ?? ""),
    reasoning: run.reasoning + (reasoning ?? ""),
  }),
  assistant_message: (run, { text }) => ({ ...run, text: text ?? run.text }),
  tool_call: (run, { key = "", name = "", arguments: given = "" }) => ({
    ...run,
    state: "tool",
    tools: [...run.tools.filter((tool) => tool.key !== key), { key, name, arguments: given }],
  }),
  tool_result: (run, { key, ok, ms }) => ({
    ...run,
    tools: run.tools.map((tool) => (tool.key === key ? { ...tool, ok, ms } : tool)),
  }),
  approval: (run, payload) => ({ ...run, state: "waiting", approval: payload }),
  error: (run, { text = "" }) => ({ ...run, told: text }),
  end: (run, { state = "completed" }) => ({ ...run, state, ended: true }),
};

/**
 * What the run does after an event. An event seen before changes nothing; a model call that is made
 * again takes back what the one before had said.
 * @param {Running | null} before @param {RunEvent} event @returns {Running}
 */
export function after(before, event) {
  const same = before?.id === event.run_id ? before : null;
  if (same && event.seq <= same.seq) return same;
  let run = same ?? fresh(event);
  if (event.model_call > run.call)
    run = { ...run, call: event.model_call, text: "", reasoning: "", tools: [] };
  const change = CHANGES[event.kind];
  return { ...(change ? change(run, event.payload) : run), seq: event.seq };
}
