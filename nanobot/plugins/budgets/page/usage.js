/** What was used and what it cost, by day, model, chat, person and job, and what is left. */

import {
  Bars,
  changed,
  Choice,
  count,
  Empty,
  Fetched,
  Head,
  html,
  money,
  read,
  short,
  t,
  Unreadable,
  useFetched,
  useMemo,
  useState,
} from "../../kit.js";

/**
 * @typedef {import("../../gateway.js").UsageRow} UsageRow
 * @typedef {import("../../gateway.js").UsageReport} UsageReport
 * @typedef {NonNullable<import("../../gateway.js").Reads["usage"]["takes"]["by"]>} By
 * @typedef {"requests" | "tokens_in" | "tokens_out" | "cost" | "unpriced"} Measure
 */

/** @type {[By, string][]} */
const BY = [
  ["model", "Model"],
  ["chat", "Chat"],
  ["person", "Person"],
  ["job", "Job"],
];
const SPANS = [
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "A year"],
];
const DAY_MS = 86_400_000;
const MUCH = 0.8;

/**
 * Every day of the span, those without use too. Days are those of the gateway, which sums by them:
 * `last` is the one that it counts now.
 * @param {UsageRow[]} rows
 * @param {number} days
 * @param {string} last
 */
export function everyDay(rows, days, last) {
  const byDay = new Map(rows.map((row) => [row.name, row]));
  const today = Date.parse(last);
  return Array.from({ length: days }, (_, index) => {
    const day = new Date(today - (days - 1 - index) * DAY_MS);
    return { at: day.getTime() / 1_000, row: byDay.get(day.toISOString().slice(0, 10)) };
  });
}

/** @param {{ rows: UsageRow[], days: number, last: string }} props */
function Charts({ rows, days, last }) {
  const [what, setWhat] = useState("tokens");
  const { at, series, value } = useMemo(() => {
    const all = everyDay(rows, days, last);
    const pick = (/** @type {Measure} */ name) => all.map(({ row }) => row?.[name] ?? 0);
    const tokens = [
      // Bars of what came out stand on those of what went in.
      { name: t("Tokens out"), tint: "--c1", values: pick("tokens_out"), on: pick("tokens_in") },
      { name: t("Tokens in"), tint: "--c0", values: pick("tokens_in") },
    ];
    /** @type {Record<string, { name: string, tint: string, values: number[], on?: number[] }[]>} */
    const measures = {
      tokens,
      cost: [{ name: t("Cost"), tint: "--c2", values: pick("cost") }],
      requests: [{ name: t("Model calls"), tint: "--c3", values: pick("requests") }],
    };
    return {
      at: all.map((day) => day.at),
      series: measures[what],
      value: what === "cost" ? money : short,
    };
  }, [rows, days, last, what]);
  /** @type {Record<string, string>} */
  const titles = {
    tokens: t("Tokens a day"),
    cost: t("Cost a day"),
    requests: t("Model calls a day"),
  };
  return html`
    <div class="row spread">
      <${Choice}
        label=${t("What")}
        value=${what}
        onChange=${setWhat}
        options=${[
          ["tokens", t("Tokens")],
          ["cost", t("Cost")],
          ["requests", t("Model calls")],
        ]}
      />
    </div>
    <${Bars} title=${titles[what]} days=${at} series=${series} value=${value} />
  `;
}

/** When a day begins, and where. @param {UsageReport} report */
const dayOf = ({ zone, reset_hour: hour }) =>
  t("A day begins at {hour}:00 in the time zone {zone}.", { hour, zone });

/** @param {UsageRow[]} rows @param {Measure} name */
const sum = (rows, name) => rows.reduce((total, row) => total + row[name], 0);

/** @param {{ report: UsageReport }} props */
function Tiles({ report }) {
  const { rows, limits } = report;
  const unpriced = sum(rows, "unpriced");
  const tiles = [
    [
      money(sum(rows, "cost")),
      unpriced ? t("cost, and {n} calls at an unknown price", { n: count(unpriced) }) : t("cost"),
    ],
    [short(sum(rows, "tokens_in")), t("tokens in")],
    [short(sum(rows, "tokens_out")), t("tokens out")],
    [count(sum(rows, "requests")), t("model calls")],
  ];
  return html`
    <div class="tiles">
      ${tiles.map(([value, name]) => html`
        <div class="card tile">
          <b>${value}</b>
          <span>${name}</span>
        </div>
      `)}
    </div>
    ${limits.length > 0 && html`
      <section>
        <h2>${t("Today's budgets")}</h2>
        <div class="tiles">
          ${limits.map((limit) => {
            const part = Math.min(limit.used / limit.limit, 1);
            const shown = limit.measure === "cost" ? money : short;
            return html`
              <div class="card tile">
                <b>${shown(limit.left)}</b>
                <span>
                  ${t("left of {limit} {measure}", {
                    limit: shown(limit.limit),
                    measure: t(limit.measure),
                  })}${" "}
                  · ${t(limit.level)} ${limit.level === "all" ? "" : limit.name}
                </span>
                <div
                  class=${`meter ${part > MUCH ? "high" : ""}`}
                  role="meter"
                  aria-valuemin=${0}
                  aria-valuemax=${100}
                  aria-valuenow=${Math.round(part * 100)}
                  aria-label=${t("used")}
                >
                  <i style=${{ width: `${part * 100}%` }}></i>
                </div>
              </div>
            `;
          })}
        </div>
      </section>
    `}
  `;
}

/** An owner of whom no platform says a name has an id that says little. @param {string} name */
const called = (name) => (name.endsWith(":local") ? `${t("the owner")} (${name})` : name);

/** @param {{ by: By, days: number }} props */
function Table({ by, days }) {
  const report = useFetched(
    (signal) => read("usage", { by, days }, { signal }),
    [by, days, changed.value],
  );
  return html`
    <${Fetched} of=${report}>
      ${({ rows }) => {
        const most = Math.max(...rows.map((row) => row.tokens_in + row.tokens_out), 1);
        const sorted = [...rows].sort(
          (one, other) => other.tokens_in + other.tokens_out - one.tokens_in - one.tokens_out,
        );
        return html`
          <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("Usage")}>
            <table class="table">
              <thead>
                <tr>
                  <th>${t("Who or what")}</th>
                  <th class="number">${t("Calls")}</th>
                  <th class="number">${t("Tokens in")}</th>
                  <th class="number">${t("Tokens out")}</th>
                  <th class="number">${t("Cost")}</th>
                </tr>
              </thead>
              <tbody>
                ${sorted.map((row) => html`
                  <tr>
                    <td class="wide bar">
                      <i
                        style=${{ width: `${(100 * (row.tokens_in + row.tokens_out)) / most}%` }}
                      ></i>
                      <span>${called(row.name) || t("none")}</span>
                    </td>
                    <td class="number">${count(row.requests)}</td>
                    <td class="number">${count(row.tokens_in)}</td>
                    <td class="number">${count(row.tokens_out)}</td>
                    <td class="number">
                      ${row.unpriced >= row.requests && !row.cost ? t("unknown") : money(row.cost)}
                    </td>
                  </tr>
                `)}
              </tbody>
            </table>
          </div>
        `;
      }}
    <//>
  `;
}

export default function Usage() {
  const [days, setDays] = useState(30);
  const [by, setBy] = useState(BY[0][0]);
  const report = useFetched(
    (signal) => read("usage", { by: "day", days }, { signal }),
    [days, changed.value],
  );
  return html`
    <div class="view">
      <${Head} title=${t("Usage")} about=${t("Tokens and money, counted at every model call.")}>
        <${Choice}
          label=${t("Span")}
          value=${String(days)}
          options=${SPANS.map(([key, name]) => [key, t(name)])}
          onChange=${(chosen) => setDays(Number(chosen))}
        />
      <//>
      <${Fetched} of=${report}>
        ${(value) =>
          value.rows.length ? html`
            <${Tiles} report=${value} />
            <section>
              <${Charts} rows=${value.rows} days=${days} last=${value.today} />
              <p class="soft">${dayOf(value)}</p>
            </section>
            <section>
              <div class="row spread">
                <h2>${t("By")}</h2>
                <${Choice}
                  label=${t("By")}
                  value=${by}
                  options=${BY.map(([key, name]) => /** @type {const} */ ([key, t(name)]))}
                  onChange=${setBy}
                />
              </div>
              <${Table} by=${by} days=${days} />
            </section>
          ` : html`
            <${Empty} icon="usage" title=${t("Nothing was used yet")}>
              ${t("With the first answer there is something to see.")}
            <//>
          `
        }
      <//>
      <${Unreadable} of="usage" />
    </div>
  `;
}
