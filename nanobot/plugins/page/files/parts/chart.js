/** Charts over days, drawn by uPlot, which is loaded when the first one is shown. */

import { language, t } from "../i18n.js";
import { asset, html, useEffect, useRef } from "../lib.js";
import { theme } from "../theme.js";

/**
 * @typedef {typeof import("../vendor/uplot.js").default} Plot
 * @typedef {import("../vendor/uplot.js").default.Series} SeriesOptions
 * @typedef {{ name: string, tint: string, values: number[], on?: number[] }} Series
 */

/** @type {Promise<Plot> | undefined} */
let library;

async function load() {
  if (!library) {
    const sheet = document.createElement("link");
    sheet.rel = "stylesheet";
    sheet.href = asset("./vendor/uplot.css");
    document.head.append(sheet);
    library = import("../vendor/uplot.js").then((module) => module.default);
  }
  return library;
}

/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const HEIGHT = 220;
/** So many may lie between two days that are named. */
const DAYS = [1, 2, 4, 7, 14, 28, 56, 91];

/**
 * @param {Plot} plot
 * @param {{ width: number, series: Series[], value: (value: number) => string }} shown
 * @returns {import("../vendor/uplot.js").default.Options}
 */
function options(plot, { width, series, value }) {
  const axis = {
    stroke: colour("--soft"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: `12px ${colour("--font")}`,
  };
  return {
    width,
    height: HEIGHT,
    // A day is a date without a zone, given as its midnight in UTC.
    tzDate: (at) => plot.tzDate(new Date(at * 1_000), "Etc/UTC"),
    cursor: { points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: true },
      y: {
        range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1],
      },
    },
    axes: [
      {
        ...axis,
        space: 60,
        incrs: DAYS.map((days) => days * 86_400),
        values: (_, ticks) => ticks.map((at) => dayName(at, { month: "short", day: "numeric" })),
      },
      { ...axis, size: 64, values: (_, ticks) => ticks.map(value) },
    ],
    series: [
      { label: t("Day"), value: (_, at) => (at ? dayName(at) : "") },
      ...series.map(
        ({ name, tint, values }) =>
          /** @type {SeriesOptions} */ ({
            label: name,
            stroke: colour(tint),
            fill: colour(tint),
            paths: plot.paths.bars?.({ size: [0.6, 40], radius: 0.15 }),
            points: { show: false },
            value: (_, __, ___, index) => (index === null ? "" : value(values[index])),
          }),
      ),
    ],
  };
}

/** @param {number} at midnight of the day in UTC @param {Intl.DateTimeFormatOptions} [parts] */
const dayName = (at, parts) =>
  new Date(at * 1_000).toLocaleDateString(language.value, { timeZone: "UTC", ...parts });

/**
 * Bars by day. `on`: what the bars of a series stand on; the series that they stand on comes later.
 * @param {{
 *   title: string, days: number[], series: Series[],
 *   value: (amount: number) => string,
 * }} props
 */
export function Bars({ title, days, series, value }) {
  const element = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    /** @type {InstanceType<Plot> | undefined} */
    let chart;
    let gone = false;
    const watching = new ResizeObserver(([{ contentRect }]) =>
      chart?.setSize({ width: contentRect.width, height: HEIGHT }),
    );
    load().then((Plot) => {
      if (gone || !element.current) return;
      const heights = series.map(({ values, on }) =>
        values.map((amount, index) => amount + (on?.[index] ?? 0)),
      );
      /** @type {import("../vendor/uplot.js").default.AlignedData} */
      const data = [days, ...heights];
      chart = new Plot(
        options(Plot, { width: element.current.clientWidth, series, value }),
        data,
        element.current,
      );
      watching.observe(element.current);
    });
    return () => ((gone = true), watching.disconnect(), chart?.destroy());
  }, [days, series, theme.value, language.value]);
  const total = series
    .map(({ name, values }) => `${name}: ${value(values.reduce((sum, each) => sum + each, 0))}`)
    .join(", ");
  return html`
    <figure class="chart card">
      <figcaption>${title}</figcaption>
      <div ref=${element} role="img" aria-label=${`${title}. ${total}`}></div>
    </figure>
  `;
}
