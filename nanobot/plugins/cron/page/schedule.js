/** What is done later, or again and again: the jobs, and the week to come. */

import {
  Button,
  change,
  changed,
  Choice,
  Dialog,
  Empty,
  Fetched,
  go,
  Head,
  html,
  link,
  may,
  me,
  moment,
  read,
  State,
  t,
  tell,
  Unreadable,
  useFetched,
  useMore,
  useState,
  When,
} from "../../kit.js";
import { JobForm, MISFIRE, nameOf, OVERLAP } from "./schedule/form.js";
import { Week } from "./schedule/week.js";

/**
 * @typedef {import("../../gateway.js").JobView} JobView
 * @typedef {"cron run" | "cron pause" | "cron resume"} Deed
 */

/** @param {{ job: JobView, again: () => Promise<void>, onEdit: (job: JobView) => void }} props */
function Row({ job, again, onEdit }) {
  const act = (/** @type {Deed} */ name, /** @type {string} */ done) => async () => {
    await change(name, { job: String(job.id) });
    tell(done);
    await again();
  };
  const paused = job.state === "paused";
  return html`
    <tr>
      <td>
        <${State} state=${job.state} />
        ${job.reason && html`<small class="reason">${job.reason}</small>`}
      </td>
      <td class="wide">
        <a href=${link("schedule", String(job.id))}>${job.name}</a> <small>${job.text}</small>
      </td>
      <td>
        <code>${job.schedule}</code> <small>${job.zone}</small>
      </td>
      <td>
        <${When} at=${job.next_at} />
      </td>
      <td class="number">
        <div class="row tight">
          ${may("cron run") && html`
            <${Button}
              kind="bare"
              icon="play"
              label=${t("Do it now")}
              onClick=${act("cron run", t("It is being done now."))}
            />
          `}
          ${may(paused ? "cron resume" : "cron pause") && html`
            <${Button}
              kind="bare"
              icon=${paused ? "play" : "pause"}
              label=${paused ? t("Resume") : t("Pause")}
              onClick=${
                paused
                  ? act("cron resume", t("It is resumed."))
                  : act("cron pause", t("It is paused."))
              }
            />
          `}
          ${may("cron edit") && html`
            <${Button} kind="bare" icon="edit" label=${t("Change")} onClick=${() => onEdit(job)} />
          `}
        </div>
      </td>
    </tr>
  `;
}

/**
 * A time here, and in the zone of its job where clocks show another one.
 * @param {{ at: number, zone: string }} props
 */
function Due({ at, zone }) {
  const [here, there] = [moment(at), moment(at, zone)];
  return html`
    ${here}
    ${there !== here && html`
      ${" "}
      <small>
        ${there} ${zone}
      </small>
    `}
  `;
}

/**
 * One job with what became of its times.
 * @param {{
 *   id: string, onClose: () => void, onEdit: (job: JobView) => void, again: () => void,
 * }} props
 */
function Job({ id, onClose, onEdit, again }) {
  const job = useFetched(
    async (signal) => {
      const [jobs, history] = await Promise.all([
        read("cron list", { limit: 1_000 }, { signal }),
        read("cron history", { job: id, limit: 30 }, { signal }),
      ]);
      return { job: jobs.find((each) => String(each.id) === id), history };
    },
    [id, changed.value],
  );
  const [sure, setSure] = useState(false);
  const remove = async () => (await change("cron remove", { job: id }), again(), onClose());
  return html`
    <${Dialog} title=${job.value?.job?.name ?? t("Job {id}", { id })} onClose=${onClose} wide>
      <${Fetched} of=${job}>
        ${({ job: one, history }) =>
          !one ? html`<p>${t("There is no such job any more.")}</p>` : html`
            <dl class="facts">
              ${
                /** @type {[string, import("../../parts/basics.js").Children][]} */ ([
                  ["State", html`<${State} state=${one.state} />`],
                  ["Schedule", html`<code>${one.schedule}</code>`],
                  ["Zone", one.zone],
                  ["Next", one.next_at && html`<${Due} at=${one.next_at} zone=${one.zone} />`],
                  ["Speaks in", one.to],
                  ["Missed times", nameOf(MISFIRE, one.misfire)],
                  ["If the one before is not done", nameOf(OVERLAP, one.overlap)],
                ])
                  .filter(([, value]) => value)
                  .map(([name, value]) => html`
                    <div>
                      <dt>${t(name)}</dt>
                      <dd>${value}</dd>
                    </div>
                  `)
              }
            </dl>
            <pre tabindex=${0}>${one.text}</pre>
            <div class="row">
              ${may("cron edit") && html`
                <${Button} icon="edit" onClick=${() => onEdit(one)}>
                  ${t("Change")}
                <//>
              `}
              ${sure ? html`
                <${Button} kind="danger" onClick=${remove}>
                  ${t("Yes, remove it")}
                <//>
                <${Button} onClick=${() => setSure(false)}>${t("Keep it")}<//>
              ` : html`
                <${Button} kind="danger" icon="trash" onClick=${() => setSure(true)}>
                  ${t("Remove")}
                <//>
              `}
            </div>
            <h3>${t("What became of its times")}</h3>
            ${history.length ? html`
              <div
                class="scroll"
                tabindex=${0}
                role="region"
                aria-label=${t("What became of its times")}
              >
                <table class="table">
                  <thead>
                    <tr>
                      <th>${t("Due")}</th>
                      <th>${t("Result")}</th>
                      <th>${t("Run")}</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${history.map((time) => html`
                      <tr>
                        <td>
                          <${Due} at=${time.scheduled_at} zone=${one.zone} />
                        </td>
                        <td>
                          <${State} state=${time.status} /> <small>${time.error}</small>
                        </td>
                        <td>
                          ${time.run_id && me.value?.everything && html`
                            <a href=${link("runs", time.run_id)}>${time.run_id.slice(0, 10)}</a>
                          `}
                        </td>
                      </tr>
                    `)}
                  </tbody>
                </table>
              </div>
            ` : html`<p>${t("It has not been due yet.")}</p>`}
          `
        }
      <//>
      <${Unreadable} of="cron history" />
    <//>
  `;
}

/** @param {{ what: string }} props */
export default function Schedule({ what }) {
  const [view, setView] = useState("list");
  const [form, setForm] = useState(/** @type {JobView | "new" | null} */ (null));
  const { limit, below } = useMore(500);
  const jobs = useFetched(
    (signal) => read("cron list", { limit }, { signal }),
    [limit, changed.value],
  );
  const edit = (/** @type {JobView} */ job) => (go("schedule"), setForm(job));
  return html`
    <div class="view">
      <${Head}
        title=${t("Schedule")}
        about=${t("What the assistant does later, or again and again.")}
      >
        <${Choice}
          label=${t("View")}
          value=${view}
          options=${[
            ["list", t("Jobs")],
            ["week", t("The coming week")],
          ]}
          onChange=${setView}
        />
        ${may("cron add") && html`
          <${Button} kind="main" icon="plus" onClick=${() => setForm("new")}>
            ${t("New job")}
          <//>
        `}
      <//>
      <${Fetched} of=${jobs}>
        ${(list) =>
          !list.length ? html`
            <${Empty} icon="schedule" title=${t("Nothing is scheduled")}>
              ${may("cron add")
                ? t("Ask in a chat (“remind me every Monday at 8 ...”), or add a job here.")
                : t("Ask in a conversation: “remind me every Monday at 8 ...”.")}
            <//>
          ` : view === "week" ? html`<${Week} jobs=${list} />` : html`
            <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("Jobs")}>
              <table class="table">
                <thead>
                  <tr>
                    <th>${t("State")}</th>
                    <th>${t("Job")}</th>
                    <th>${t("Schedule")}</th>
                    <th>${t("Next")}</th>
                    <th>
                      <span class="hidden">${t("Actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  ${list.map((job) => html`
                    <${Row} key=${job.id} job=${job} again=${jobs.again} onEdit=${edit} />
                  `)}
                </tbody>
              </table>
            </div>
            ${below(list)}
          `
        }
      <//>
      <${Unreadable} of="cron list" />
      ${what && html`
        <${Job}
          key=${what}
          id=${what}
          onClose=${() => go("schedule")}
          onEdit=${edit}
          again=${jobs.again}
        />
      `}
      ${form && html`
        <${JobForm}
          job=${form === "new" ? null : form}
          onClose=${() => setForm(null)}
          onDone=${() => (setForm(null), jobs.again())}
        />
      `}
    </div>
  `;
}
