/**
 * The first steps: a model, a chat, who you are, how it talks, a first message. Left and taken up
 * at will.
 */

import { access, change, known, may, read, Told } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useEffect, useState } from "../../lib.js";
import { Button, Fetched, Loading, useFetched } from "../../parts/basics.js";
import { Field } from "../../parts/dialog.js";
import { Icon } from "../../parts/icons.js";
import { tell } from "../../parts/notices.js";
import { go, link } from "../../router.js";
import { Connect } from "../channels/setup.js";
import { Answering } from "./answering.js";
import { told } from "./told.js";
import { leave, left } from "./visit.js";

const SKIPPED = "welcome:skipped";
const DRAFT = "draft:web:hello";
const AGAIN_MS = 700;
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = Intl.supportedValuesOf?.("timeZone") ?? [own];

/**
 * What of it is done, as the gateway knows; what was left out, as this browser does.
 * @param {AbortSignal} [signal]
 */
export async function progress(signal) {
  const [settings, channels, personas, user] = await Promise.all([
    read("config get", {}, { signal }),
    may("channels list") ? read("channels list", {}, { signal }) : [],
    may("personas list") ? read("personas list", {}, { signal }) : [],
    may("prompts show") ? read("prompts show", { name: "USER.md" }, { signal }) : null,
  ]);
  const model = settings.find(({ key }) => key === "agent.model");
  const persona = settings.find(({ key }) => key === "agent.persona");
  const zone = settings.find(({ key }) => key === "agent.zone");
  const wanted = settings
    .filter(
      ({ key, value, written }) =>
        /^channels\.[^.]+\.enabled$/.test(key) && (written ?? value) === true,
    )
    .map(({ key }) => key.split(".")[1]);
  const skipped = new Set(JSON.parse(localStorage.getItem(SKIPPED) ?? "[]"));
  return {
    model: String(model?.written ?? model?.value ?? ""),
    zone: String(zone?.written ?? zone?.value ?? ""),
    personas,
    user,
    pending:
      settings.some(({ written }) => written !== null && written !== undefined) ||
      wanted.some((name) => !channels.some((channel) => channel.name === name)),
    done: /** @type {Record<string, boolean>} */ ({
      model: model?.source !== "default" || Boolean(model?.written),
      chat: wanted.length > 0,
      you: /^- .*:[ \t]*\S/m.test(user?.text ?? "") || skipped.has("you-done"),
      persona: persona?.source !== "default" || Boolean(persona?.written),
      hello: skipped.has("hello-done"),
    }),
    skipped,
  };
}

/** @param {string} name */
function mark(name) {
  const before = JSON.parse(localStorage.getItem(SKIPPED) ?? "[]");
  localStorage.setItem(SKIPPED, JSON.stringify([...new Set([...before, name])]));
}

/**
 * @typedef {Awaited<ReturnType<typeof progress>>} Progress
 * @typedef {{ state: Progress, onDone: () => void }} Step
 */

/** @param {Step} props */
function You({ state, onDone }) {
  const before = state.user?.text ?? "";
  const [text, setText] = useState(before);
  const [zone, setZone] = useState(state.zone || own);
  const save = async () => {
    if (zone !== state.zone)
      tell(told(await change("config set", { key: "agent.zone", text: zone })));
    if (text !== before) {
      await change("prompts write", { name: "USER.md", text, digest: state.user?.digest });
      tell(t("{name} is saved. New conversations have it.", { name: "USER.md" }));
    }
    mark("you-done");
    onDone();
  };
  return html`
    <form class="stacked">
      <p class="soft">
        ${t(
          "Facts about you for every conversation: your name, where you live, your language, what you do.",
        )}
      </p>
      <textarea
        class="code"
        rows=${12}
        aria-label="USER.md"
        value=${text}
        onInput=${(event) => setText(event.currentTarget.value)}
      ></textarea>
      <${Field} name=${t("Your time zone, for schedules, quiet hours and days")}>
        <input
          type="text"
          list="your-zones"
          value=${zone}
          onInput=${(event) => setZone(event.currentTarget.value)}
        />
        <datalist id="your-zones">
          ${zones.map((name) => html`<option value=${name}></option>`)}
        </datalist>
      <//>
      <div class="row end">
        <${Button}
          kind="main"
          type="submit"
          disabled=${text === before && zone === state.zone}
          onClick=${save}
        >
          ${t("Save")}
        <//>
      </div>
    </form>
  `;
}

/** @param {Step} props */
function Persona({ state, onDone }) {
  const [name, setName] = useState(state.personas.find(({ chosen }) => chosen)?.name ?? "default");
  const keep = async () => {
    await change("config set", { key: "agent.persona", text: name });
    onDone();
  };
  return html`
    <form class="stacked">
      <fieldset class="personas">
        <legend class="hidden">${t("How it talks")}</legend>
        ${state.personas.map((each) => html`
          <label class="card persona">
            <input
              type="radio"
              name="persona"
              checked=${each.name === name}
              onChange=${() => setName(each.name)}
            />
            <span>
              <b>${t(each.name)}</b>
              <small>${each.text}</small>
            </span>
          </label>
        `)}
      </fieldset>
      <div class="row end">
        <${Button} kind="main" type="submit" onClick=${keep}>
          ${t("Let it talk so")}
        <//>
      </div>
    </form>
  `;
}

/** @param {Step} props */
function Hello({ state }) {
  const [waiting, setWaiting] = useState(false);
  const begin = async () => {
    if (state.pending) {
      const before = state.model;
      setWaiting(true);
      try {
        await change("restart");
        await untilAgain(before);
      } finally {
        setWaiting(false);
      }
    }
    mark("hello-done");
    sessionStorage.setItem(DRAFT, t("Hello! Who are you, and what can you do for me?"));
    go("chat", "web:hello");
  };
  if (waiting)
    return html`
      <p role="status">${t("It is starting again.")}</p>
      <${Loading} rows=${2} />
    `;
  return html`
    <p>
      ${state.pending
        ? t(
            "Your choices take effect after a restart: nanobot restarts now, and then waits for your first message.",
          )
        : t("Everything is ready.")}
    </p>
    <div class="row end">
      <${Button} kind="main" onClick=${begin}>
        ${state.pending ? t("Start again, and say hello") : t("Say hello")}
      <//>
    </div>
  `;
}

/** The gateway has ended and is back, with what was written. @param {string} model */
async function untilAgain(model) {
  for (let turn = 0; turn < 120; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    if (!(await known()) || access.value !== "in") continue;
    const settings = await read("config get", { key: "agent.model" }).catch(() => []);
    if (settings[0]?.value === model && !settings[0].written) return;
  }
  throw new Told(t("It does not come back: look at its log."));
}

/**
 * @typedef {import("../../vendor/preact.js").ComponentType<Step>} Part
 * @typedef {Parameters<typeof may>[0]} Operation
 * @type {{ name: string, title: string, about: string, part: Part, needs?: Operation }[]}
 */
const STEPS = [
  {
    name: "model",
    title: "Choose a model",
    about: "With its key, or one on this machine; it is tried before it is kept.",
    needs: "models try",
    part: ({ state, onDone }) => html`<${Answering} now=${state.model} onDone=${onDone} />`,
  },
  {
    name: "chat",
    title: "Connect a chat",
    about: "Telegram, Discord, Slack, Matrix, mail: talk to it where you already are.",
    needs: "channels connect",
    part: ({ onDone }) => html`<${Connect} name="" quiet onDone=${onDone} />`,
  },
  {
    name: "you",
    title: "Say who you are",
    about: "Its contents are part of every conversation.",
    needs: "prompts write",
    part: You,
  },
  {
    name: "persona",
    title: "How it talks",
    about: "In the manner that you like; it can be changed at any time.",
    needs: "personas list",
    part: Persona,
  },
  { name: "hello", title: "Say hello", about: "The first message, here on the page.", part: Hello },
];

/** The steps of this gateway: while plugins with their operations are off, some are missing. */
const steps = () => STEPS.filter(({ needs }) => !needs || may(needs));

/** How many steps are done. @param {Record<string, boolean>} done */
export const count = (done) => ({
  done: steps().filter(({ name }) => done[name]).length,
  all: steps().length,
});

/** @param {{ what: string }} props */
export function Start({ what }) {
  const state = useFetched(progress, []);
  const known = state.value;
  const all = steps();
  const first = known && all.find(({ name }) => !known.done[name] && !known.skipped.has(name));
  const now = all.find(({ name }) => name === what) ?? first ?? all[all.length - 1];
  const next = () => {
    const following = all[all.indexOf(now) + 1];
    state.again();
    if (following) go("settings", `start:${following.name}`);
  };
  const skip = () => (mark(now.name), next());
  useEffect(
    () => document.querySelector(".step[aria-current] h2")?.scrollIntoView?.({ block: "nearest" }),
    [now],
  );
  return html`
    <${Fetched} of=${state}>
      ${(value) => html`
        <section class="welcome">
          <div class="row spread">
            <p class="soft grow">
              ${t(
                "{done} of {all} steps are done. You can leave at any time; finished steps are saved.",
                count(value.done),
              )}
            </p>
            <progress
              max=${all.length}
              value=${count(value.done).done}
              aria-label=${t("Steps done")}
            ></progress>
            ${!left() && html`
              <${Button} kind="small" onClick=${leave}>
                ${t("Go to the chat at the start")}
              <//>
            `}
          </div>
          <ol class="steps">
            ${all.map(({ name, title, about, part: Part }, index) => {
              const open = name === now.name;
              return html`
                <li
                  key=${name}
                  class=${`card step ${value.done[name] ? "done" : ""}`}
                  aria-current=${open ? "step" : undefined}
                >
                  <a class="stephead" href=${link("settings", `start:${name}`)}>
                    <span class="number">
                      ${value.done[name] ? html`<${Icon} name="check" size=${16} />` : index + 1}
                    </span>
                    <span>
                      <h2>
                        ${t(title)}
                        ${value.done[name] && html`<span class="hidden"> (${t("done")})</span>`}
                      </h2>
                      <small>${t(about)}</small>
                    </span>
                  </a>
                  ${open && html`
                    <div class="stepbody">
                      <${Part} state=${value} onDone=${next} />
                      ${name !== "hello" && html`
                        <div class="row">
                          <${Button} kind="bare" onClick=${skip}>
                            ${t("Leave it for later")}
                          <//>
                        </div>
                      `}
                    </div>
                  `}
                </li>
              `;
            })}
          </ol>
          <p class="soft">
            ${t(
              "All of it can be done by command, too: nanobot onboard, channels connect, prompts write, config set.",
            )}
          </p>
        </section>
      `}
    <//>
  `;
}
