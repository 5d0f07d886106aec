/** The icons: strokes on a square of 24, drawn for this page. */

import { html } from "../lib.js";

/** @type {Record<string, string>} */
const PATHS = {
  chat: "M4 5h16v11H9l-5 4z",
  runs: "M4 6h9M4 12h16M4 18h6M17 4v4M14 16v4",
  schedule: "M5 6h14v14H5zM5 10h14M9 3v4M15 3v4",
  memory: "M12 4c-4 0-7 2-7 5v6c0 3 3 5 7 5s7-2 7-5V9c0-3-3-5-7-5zM5 10c0 3 3 4 7 4s7-1 7-4",
  channels: "M6 9a6 6 0 0 1 12 0M9 9a3 3 0 0 1 6 0M12 9v11M8 20h8",
  usage: "M4 20h16M7 16v-5M12 16V6M17 16v-8",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  send: "M5 12 19 5l-4 14-3-6z",
  stop: "M7 7h10v10H7z",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6 6 18",
  search: "M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM16 16l4 4",
  copy: "M9 9h10v10H9zM5 15V5h10",
  retry: "M5 12a7 7 0 1 1 2 5M5 19v-4h4",
  edit: "M5 19h3L19 8l-3-3L5 16zM14 7l3 3",
  trash: "M6 8h12l-1 12H7zM4 8h16M10 4h4",
  pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v6",
  case: "M9 4h6v3H9zM9 5H6v15h12V5h-3M9 13l2 2 4-4",
  thumb: "M8 13V4h8l3 8h-6l1 6-2 1zM4 4h4v9H4z",
  check: "M5 13l4 4L19 7",
  chevron: "M9 6l6 6-6 6",
  attach: "M8 12l6-6a3 3 0 0 1 4 4l-8 8a5 5 0 0 1-7-7l7-7",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 3v2M12 19v2M3 12h2M19 12h2M6 6l1 1M17 17l1 1M6 18l1-1M17 7l1-1",
  moon: "M18 14A7 7 0 0 1 10 6a7 7 0 1 0 8 8z",
  back: "M15 5l-7 7 7 7",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  down: "M12 5v14M6 13l6 6 6-6",
  folder: "M3 7h6l2 2h10v10H3z",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  pause: "M9 6v12M15 6v12",
  play: "M8 5l11 7-11 7z",
  info: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 11v5M12 8h.01",
  warning: "M12 4 3 19h18zM12 10v4M12 17h.01",
};

/** @param {{ name: string, size?: number }} props */
export const Icon = ({ name, size = 18 }) => html`
  <svg
    class="icon"
    width=${size}
    height=${size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="1.75"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d=${PATHS[name]} />
  </svg>
`;
