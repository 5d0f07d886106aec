/** A job made or changed, with the times at which it would be due. */

import {
  Button,
  change,
  Dialog,
  Field,
  html,
  lastOpened,
  may,
  read,
  said,
  t,
  tell,
  useEffect,
  useState,
  valueOf,
} from "../../../kit.js";

const PATIENCE = 300;
const EXAMPLES = ["every weekday at 9", "tomorrow at 18:00", "每月第一个星期一9点", "0 8 * * 1-5"];
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = Intl.supportedValuesOf?.("timeZone") ?? [own];

/** @typedef {[string, () => string][]} Choices values with their names */

/** What happens to times that were missed. @type {Choices} */
export const MISFIRE = [
  ["skip", () => t("skip them")],
  ["run_once", () => t("do it once")],
  ["run_all", () => t("do each")],
];

/** What happens if the time before is still being done. @type {Choices} */
export const OVERLAP = [
  ["skip", () => t("skip it")],
  ["queue", () => t("do it afterwards")],
  ["replace", () => t("end the one before")],
];

/** @param {Choices} choices @param {string} value */
export const nameOf = (choices, value) => choices.find(([each]) => each === value)?.[1]() ?? value;

/** Where a job speaks if nobody opened a conversation before. */
const FALLBACK = "web:jobs";
/** Sessions that are no chats: nobody reads what is sent there. */
const NO_CHATS = /^(cron|task|heartbeat|events|hook|lifecycle)(:|$)/;

/**
 * @typedef {import("../../../gateway.js").SessionView} Session
 * @typedef {import("../../../gateway.js").JobView} Job
 * @typedef {import("../../../gateway.js").DueView} DueView
 * @typedef {import("../../../parts/dialog.js").FormEvent} FormEvent
 * @typedef {import("../../../gateway.js").Changes["cron add"]["takes"]} Given
 */

/**
 * The next five times of a schedule, or what is wrong with it.
 * @param {{ schedule: string, zone: string }} props
 */
function Preview({ schedule, zone }) {
  const [shown, setShown] = useState({ times: /** @type {DueView[]} */ ([]), error: "" });
  useEffect(() => {
    if (!schedule.trim()) return setShown({ times: [], error: "" });
    const control = new AbortController();
    const timer = setTimeout(
      () =>
        read("cron preview", { text: schedule, zone, count: 5 }, { signal: control.signal }).then(
          (times) => setShown({ times, error: "" }),
          (error) => control.signal.aborted || setShown({ times: [], error: said(error) }),
        ),
      PATIENCE,
    );
    return () => (clearTimeout(timer), control.abort());
  }, [schedule, zone]);
  if (shown.error)
    return html`
      <p class="bad" role="alert">
        ${shown.error}
      </p>
    `;
  const [first] = shown.times;
  return html`
    <div aria-live="polite">
      ${first && html`
        <p>
          ${first.rule} (${first.zone})
        </p>
      `}
      <ol class="preview">${shown.times.map(({ time }) => html`<li>${time}</li>`)}</ol>
    </div>
  `;
}

/**
 * A new job, or one that changes.
 * @param {{ job: Job | null, onClose: () => void, onDone: () => void }} props
 */
export function JobForm({ job, onClose, onDone }) {
  const before = {
    schedule: job?.schedule ?? "",
    zone: job?.zone ?? own,
    name: job?.name ?? "",
    text: job?.text ?? "",
    to: job?.to ?? (lastOpened.value || FALLBACK),
    send: job?.kind === "message",
    misfire: job?.misfire ?? "skip",
    overlap: job?.overlap ?? "skip",
  };
  const [values, setValues] = useState(before);
  const [places, setPlaces] = useState(/** @type {Session[]} */ ([]));
  useEffect(() => {
    if (!may("sessions list")) return;
    read("sessions list", { limit: 200 }).then(
      (rows) => setPlaces(rows.filter(({ key }) => !NO_CHATS.test(key))),
      () => undefined,
    );
  }, []);
  const put = (/** @type {keyof typeof before} */ name) => (/** @type {FormEvent} */ event) =>
    setValues({ ...values, [name]: valueOf(event) });
  const save = async () => {
    const { send, ...texts } = values;
    /** @type {Given} */
    const given = {};
    for (const [name, value] of Object.entries(texts)) {
      if (value && (!job || value !== before[/** @type {keyof typeof texts} */ (name)]))
        Object.assign(given, { [name]: value });
    }
    if (job) await change("cron edit", { ...given, job: String(job.id) });
    else await change("cron add", { ...given, send });
    tell(job ? t("It is changed.") : t("It is scheduled."));
    onDone();
  };
  return html`
    <${Dialog}
      title=${job ? t("Change {name}", { name: job.name }) : t("New job")}
      onClose=${onClose}
    >
      <form class="stacked">
        <${Field} name=${t("Task for the assistant")} about=${t("As you would say it in a chat.")}>
          <textarea rows=${3} value=${values.text} onInput=${put("text")} required></textarea>
        <//>
        <${Field}
          name=${t("When")}
          about=${t("Cron, or words: {examples}", { examples: EXAMPLES.join(" · ") })}
        >
          <input type="text" value=${values.schedule} onInput=${put("schedule")} required />
        <//>
        <${Preview} schedule=${values.schedule} zone=${values.zone} />
        <div class="two">
          <${Field} name=${t("Time zone")}>
            <input type="text" list="zones" value=${values.zone} onInput=${put("zone")} />
            <datalist id="zones">
              ${zones.map((zone) => html`<option value=${zone}></option>`)}
            </datalist>
          <//>
          <${Field} name=${t("Name")}>
            <input type="text" value=${values.name} onInput=${put("name")} maxlength=${80} />
          <//>
          <${Field} name=${t("Speaks in")} about=${t("A conversation, or CHANNEL:CHAT.")}>
            <input
              type="text"
              list="conversations"
              value=${values.to}
              onInput=${put("to")}
              required
            />
            <datalist id="conversations">
              ${places.map(({ key, title }) => html`<option value=${key}>${title || key}</option>`)}
            </datalist>
          <//>
          <${Field} name=${t("Missed times")}>
            <select value=${values.misfire} onChange=${put("misfire")}>
              ${MISFIRE.map(([key, text]) => html`<option value=${key}>${text()}</option>`)}
            </select>
          <//>
          <${Field} name=${t("If the one before is not done")}>
            <select value=${values.overlap} onChange=${put("overlap")}>
              ${OVERLAP.map(([key, text]) => html`<option value=${key}>${text()}</option>`)}
            </select>
          <//>
          ${!job && html`
            <label class="check">
              <input type="checkbox" checked=${values.send} onChange=${put("send")} />${" "}
              ${t("Send the text unchanged, without the model")}
            </label>
          `}
        </div>
        <div class="row end">
          <${Button} onClick=${onClose}>${t("Cancel")}<//>
          <${Button}
            kind="main"
            type="submit"
            onClick=${save}
            disabled=${!values.text.trim() || !values.schedule.trim() || !values.to.trim()}
          >
            ${t("Save")}
          <//>
        </div>
      </form>
    <//>
  `;
}
