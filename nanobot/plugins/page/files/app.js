/** The frame of the page: views, navigation and login. */

import { access, ApiError, enter, known, may, me, outdated, refused } from "./api.js";
import { begin, language, LANGUAGES, speak, speakWhole, t } from "./i18n.js";
import { asset, effect, html, render, signal, useEffect, useLayoutEffect } from "./lib.js";
import { following, follow, unread, waiting } from "./live.js";
import { complain, Loading, Missing, Safe, said } from "./parts/basics.js";
import { Icon } from "./parts/icons.js";
import { Notices } from "./parts/notices.js";
import { Palette, palette } from "./parts/palette.js";
import { go, link, place } from "./router.js";
import { styled } from "./styles.js";
import { theme, turn } from "./theme.js";

/** @typedef {import("./vendor/preact.js").ComponentType<{ what: string }>} View */
/** @typedef {keyof import("./gateway.js").Reads | keyof import("./gateway.js").Changes} Needed */

/**
 * Each view is loaded when it is first looked at. It is there for those who may do what it `needs`,
 * or what it `also` shows: where the plugin of what it needs is off, which one that is. The menu
 * has them by their `order`, in which plugins add theirs.
 * @type {Record<string, { name: string, icon: string, order: number,
 *   load: () => Promise<{ default: View }>, needs?: Needed, also?: Needed, hidden?: boolean }>}
 */
export const VIEWS = {
  chat: { name: "Chat", icon: "chat", order: 0, load: () => import("./views/chat.js") },
  runs: {
    name: "Runs",
    icon: "runs",
    order: 10,
    load: () => import("./views/runs.js"),
    needs: "runs list",
    also: "compact",
  },
  memory: {
    name: "Memory",
    icon: "memory",
    order: 30,
    load: () => import("./views/memory.js"),
    needs: "memory list",
    also: "prompts list",
  },
  channels: {
    name: "Channels",
    icon: "channels",
    order: 40,
    load: () => import("./views/channels.js"),
    needs: "outbox list",
    also: "compact",
  },
  settings: {
    name: "Settings",
    icon: "settings",
    order: 60,
    load: () => import("./views/settings.js"),
  },
};

/** The views of the page itself. */
const OWN = new Set(Object.keys(VIEWS));

/** The views that this person may use. */
const views = () => {
  for (const view of me.value?.views ?? []) {
    const { name, title, icon, place, needs, order } = view;
    if (!["menu", "health"].includes(place)) continue; // a part of another view
    const load = async () => (await import("./kit.js")).made(view);
    // What a person may not use, the gateway does not name. Every owner may compact.
    const owners = needs ? undefined : "compact";
    const hidden = place !== "menu";
    if (OWN.has(name)) continue;
    // Their titles are in the language in which the gateway was asked.
    VIEWS[name] = { name: title, icon, order, load, needs: owners, hidden };
  }
  const shown = Object.entries(VIEWS)
    .filter(([, { needs, also }]) => !needs || may(needs) || (also && may(also)))
    .sort(([, one], [, other]) => one.order - other.order);
  return Object.fromEntries(shown);
};

/** Those of them that the menu names; the others have a button elsewhere. */
const inMenu = () => Object.entries(views()).filter(([, { hidden }]) => !hidden);

/** @type {import("./vendor/signals-core.js").Signal<Record<string, View>>} */
const loaded = signal({});

/**
 * The views that could not be loaded, and why.
 * @type {import("./vendor/signals-core.js").Signal<Record<string, unknown>>}
 */
const missing = signal({});

/** @param {string} name */
async function load(name) {
  try {
    const further = name === "chat" ? [] : [speakWhole(), styled(asset("./styles/views.css"))];
    const [module] = await Promise.all([VIEWS[name].load(), ...further]);
    loaded.value = { ...loaded.value, [name]: module.default };
  } catch (error) {
    missing.value = { ...missing.value, [name]: error };
    // It may be that the gateway serves another version by now.
    await known();
  }
}

/** What is told of a view beside its name. @type {Record<string, () => number>} */
const marks = { chat: () => unread.value + waiting.value };

/** @param {{ view: string }} props */
function Navigation({ view }) {
  return html`
    <nav aria-label=${t("Views")}>
      <a class="brand" href=${link("chat")}>
        <img src=${asset("./icon.svg")} alt="" width="26" height="26" />
        <span>nanobot</span>
      </a>
      <ul>
        ${inMenu().map(([name, { name: text, icon }]) => {
          const mark = marks[name]?.() ?? 0;
          return html`
            <li>
              <a href=${link(name)} aria-current=${view === name ? "page" : undefined}>
                <${Icon} name=${icon} size=${20} />
                <span>${t(text)}</span>
                ${mark > 0 && html`
                  <b class="mark" aria-label=${t("{n} unread or waiting", { n: mark })}>
                    ${mark}
                  </b>
                `}
              </a>
            </li>
          `;
        })}
      </ul>
      <div class="foot">
        <button type="button" class="search" onClick=${() => (palette.value = true)}>
          <${Icon} name="search" />
          <span>${t("Go to")}</span>
          <kbd>Ctrl K</kbd>
        </button>
        <div class="row">
          <button
            type="button"
            aria-label=${t("Light or dark")}
            title=${t("Light or dark")}
            onClick=${turn}
          >
            <${Icon} name=${theme.value === "dark" ? "sun" : "moon"} />
          </button>
          <select
            aria-label=${t("Language")}
            value=${language.value}
            onChange=${(event) => speak(event.currentTarget.value)}
          >
            ${Object.entries(LANGUAGES).map(([name, text]) => html`
              <option value=${name}>${text}</option>
            `)}
          </select>
          <span
            class=${`dot ${following.value ? "good" : "bad"}`}
            role="img"
            aria-label=${following.value ? t("Connected") : t("Not connected")}
            title=${following.value ? t("Connected") : t("Not connected")}
          ></span>
        </div>
      </div>
    </nav>
  `;
}

/** A warning: the gateway does not answer, or this page is old. */
function Above() {
  if (outdated.value) {
    return html`
      <div class="above" role="status">
        <span>${t("nanobot was renewed; this page is of the version before.")}</span>
        <button type="button" class="button small" onClick=${() => location.reload()}>
          ${t("Reload")}
        </button>
      </div>
    `;
  }
  return (
    access.value === "away" && html`
      <div class="above bad" role="alert">
        ${t("The gateway does not answer. This page continues when it does.")}
      </div>
    `
  );
}

/** A loading view, or its error. @param {{ name: string }} props */
function Coming({ name }) {
  if (name in missing.value) return html`<${Missing} error=${missing.value[name]} />`;
  return html`
    <div class="view">
      <${Loading} rows=${6} />
    </div>
  `;
}

/** @type {import("./vendor/signals-core.js").Signal<View | null>} */
const form = signal(null);

/** The login form, which most visits do not need. */
function Door() {
  useEffect(() => {
    import("./parts/login.js").then(({ Login }) => (form.value = Login)).catch(complain);
  }, []);
  const Form = form.value;
  return Form ? html`<${Form} what="" />` : null;
}

/** @param {KeyboardEvent} event */
function keys(event) {
  if (access.value === "out") return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    palette.value = !palette.value;
  } else if (event.altKey && /^[1-9]$/.test(event.key)) {
    event.preventDefault();
    const [name] = inMenu()[Number(event.key) - 1] ?? [];
    if (name) go(name);
  }
}

function App() {
  const { what } = place.value;
  const name = Object.hasOwn(views(), place.value.view) ? place.value.view : "chat";
  const View = loaded.value[name];
  useLayoutEffect(() => {
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  useEffect(() => {
    // The next attempt is theirs.
    if (!View && !(name in missing.value)) load(name);
  }, [name, language.value]);
  const mark = unread.value + waiting.value;
  useEffect(() => {
    document.title = `${mark ? `(${mark}) ` : ""}${t(VIEWS[name].name)} · nanobot`;
  }, [name, language.value, mark, VIEWS[name].name]);
  if (access.value === "out") return html`<${Door} />`;
  if (!me.value)
    return html`
      <main>
        <${Coming} name="" />
      </main>
      <${Above} />
    `;
  return html`
    <a
      class="skip"
      href="#main"
      onClick=${(event) => (event.preventDefault(), document.querySelector("main")?.focus())}
    >
      ${t("Skip to content")}
    </a>
    <${Navigation} view=${name} />
    <main id="main" tabindex=${-1} data-view=${name}>
      <${Safe} key=${name} of=${what}>
        ${View ? html`<${View} what=${what} />` : html`<${Coming} name=${name} />`}
      <//>
    </main>
    <${Above} />
    ${palette.value && html`<${Palette} views=${views()} />`}
    <${Notices} />
  `;
}

/** The secret of a link that the gateway printed, if this is one. */
const secretOf = () => /^#login=(.+)$/.exec(location.hash)?.[1] ?? "";

/** A link that the gateway printed lets in once; its secret leaves the address at once. */
async function letIn() {
  const secret = secretOf();
  if (secret) {
    history.replaceState(null, "", location.pathname);
    await enter(decodeURIComponent(secret)).catch((error) => (refused.value = said(error)));
  }
  await known();
}

/** A link that is pasted into the open page changes only what is behind the #. */
addEventListener("hashchange", async () => {
  if (!secretOf()) return;
  refused.value = "";
  await letIn();
  if (!refused.value) location.reload();
});

const frame = /** @type {HTMLElement} */ (document.getElementById("app"));
const entered = letIn();

/** The first view; what plugins add is known once the gateway has said who this is. */
async function loadFirst() {
  const { view } = place.value;
  if (Object.hasOwn(VIEWS, view)) return load(view);
  await entered;
  return load(Object.hasOwn(views(), view) ? view : "chat");
}

/** So often somebody is asked for who does not answer. */
const AGAIN_MS = 3_000;
effect(() => {
  if (access.value !== "away") return undefined;
  const timer = setInterval(() => document.hidden || known(), AGAIN_MS);
  return () => clearInterval(timer);
});
/** Whoever comes back to the page, or is connected again, does not wait for that. */
const ask = () => access.value === "away" && !document.hidden && known();
addEventListener("online", ask);
document.addEventListener("visibilitychange", ask);

/** No form leaves this page: its button does what it is for. */
addEventListener("submit", (event) => event.preventDefault());
addEventListener("unhandledrejection", (event) => {
  // What goes wrong where nobody waits for it is told, too.
  event.preventDefault();
  if (!(event.reason instanceof ApiError)) console.error(event.reason);
  complain(event.reason);
});
addEventListener("error", ({ error }) => {
  if (error instanceof Error) complain(error);
});

// All of it at once: little here needs the others.
await Promise.all([begin(), entered, loadFirst()]);
let heard = false;
effect(() => {
  if (heard || !me.value || access.value !== "in") return;
  heard = true;
  follow();
});

/** The language in which the gateway was asked last who this is, and what views there are. */
let asked = language.value;
effect(() => {
  if (language.value === asked) return;
  asked = language.value;
  if (access.peek() === "in") known();
});
frame.replaceChildren();
render(html`<${App} />`, frame);
if (access.value === "in" && !location.hash) {
  import("./views/settings/visit.js").then(({ welcome }) => welcome()).catch(() => undefined);
}

import("./notified.js").then(({ install }) => install()).catch(() => undefined);
