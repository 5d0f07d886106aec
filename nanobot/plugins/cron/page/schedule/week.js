/** The coming seven days with all that is due, and the days on which clocks change. */

import { clock, count, Fetched, html, language, link, read, t, useFetched } from "../../../kit.js";

const DAYS = 7;
const MOST_JOBS = 60;
const TIMES = 100;
const SHOWN = 8;

/** @param {number} offset */
const midnight = (offset) => {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() + offset);
  return day;
};

/**
 * @typedef {import("./form.js").Job} Job
 * @typedef {Pick<import("../../../gateway.js").DueView, "unix" | "time">} Time
 */

/** What is due on each day, one line a job and day. @param {{ job: Job, times: Time[] }[]} due */
function byDay(due) {
  return Array.from({ length: DAYS }, (_, offset) => {
    const [from, to] = [midnight(offset), midnight(offset + 1)];
    const jobs = due
      .map(({ job, times }) => ({
        job,
        times: times.filter(
          ({ unix }) => unix * 1_000 >= from.getTime() && unix * 1_000 < to.getTime(),
        ),
      }))
      .filter(({ times }) => times.length)
      .sort((one, other) => one.times[0].unix - other.times[0].unix);
    return { from, jobs, shift: from.getTimezoneOffset() - to.getTimezoneOffset() };
  });
}

/** @param {Job} job */
const isDue = (job) => job.state === "active" && job.next_at !== null;

/** @param {Job[]} jobs @param {AbortSignal} signal */
async function dueOf(jobs, signal) {
  const active = jobs.filter(isDue).slice(0, MOST_JOBS);
  const asked = active.map(async (job) => {
    const times = await read(
      "cron preview",
      { text: job.schedule, zone: job.zone, count: TIMES },
      { signal },
    ).catch(() => []);
    /** @type {import("../../../gateway.js").DueView} */
    const next = { unix: job.next_at ?? 0, time: "", rule: "", zone: job.zone };
    return { job, times: times.length ? times : [next] };
  });
  return byDay(await Promise.all(asked));
}

/** @param {{ jobs: Job[] }} props */
export function Week({ jobs }) {
  const days = useFetched((signal) => dueOf(jobs, signal), [jobs]);
  return html`
    <${Fetched} of=${days}>
      ${(week) => html`
        <ol class="week">
          ${week.map(({ from, jobs: due, shift }) => html`
            <li class="card">
              <h3>
                ${from.toLocaleDateString(language.value, {
                  weekday: "short",
                  day: "numeric",
                  month: "short",
                })}
              </h3>
              ${shift !== 0 && html`
                <p class="shift">
                  ${shift > 0
                    ? t("Clocks go forward {n} min", { n: shift })
                    : t("Clocks go back {n} min", { n: -shift })}
                </p>
              `}
              <ul>
                ${due.map(({ job, times }) => html`
                  <li>
                    <a
                      href=${link("schedule", String(job.id))}
                      title=${times
                        .slice(0, 30)
                        .map(({ time }) => time)
                        .join("\n")}
                    >
                      <b>${clock(times[0].unix)}</b> ${job.name}
                    </a>
                    ${times.length > 1 && html`
                      <small>
                        ${times.length >= TIMES
                          ? t("many times")
                          : times.length <= SHOWN / 2
                            ? times
                                .slice(1)
                                .map(({ unix }) => clock(unix))
                                .join(", ")
                            : t("{n} times until {last}", {
                                n: times.length,
                                last: clock(times[times.length - 1].unix),
                              })}
                      </small>
                    `}
                    ${clock(times[0].unix, job.zone) !== clock(times[0].unix) && html`
                      <small>
                        ${clock(times[0].unix, job.zone)} ${job.zone}
                      </small>
                    `}
                  </li>
                `)}
              </ul>
              ${!due.length && html`<p class="nothing">–</p>`}
            </li>
          `)}
        </ol>
        ${jobs.filter(isDue).length > MOST_JOBS && html`
          <p class="older">${t("Only {n} are shown.", { n: count(MOST_JOBS) })}</p>
        `}
      `}
    <//>
  `;
}
