/** Connecting a chat: what its adapter wants to know, tried before it is kept. */

import { change, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Button, Fetched, useFetched } from "../../parts/basics.js";
import { Dialog, Field } from "../../parts/dialog.js";
import { tell } from "../../parts/notices.js";
import { Owners } from "./owners.js";

/**
 * @typedef {import("./owners.js").ChannelKind} ChannelKind
 * @typedef {import("../../gateway.js").ChannelView} Channel
 * @typedef {import("../../gateway.js").ConnectedChannel} Connected
 */

/**
 * The usual value, where "@user" in it is what follows the @ in what was written for `user`.
 * @param {string} usual
 * @param {Record<string, string>} values
 */
const filled = (usual, values) =>
  usual.replace(/@(\w+)/, (_, key) => values[key]?.replace(/^@?[^@:]*[@:]/, "") || "example.org");

/**
 * What came of it.
 * @param {{ kind: ChannelKind, done: Connected, quiet: boolean, onDone: () => void }} props
 */
function Done({ kind, done, quiet, onDone }) {
  const restart = async () => {
    await change("restart");
    tell(t("It is starting again."));
    onDone();
  };
  return html`
    <p>
      ${t("{who} let it in. It is served after the next start.", { who: done.who })}
      ${done.greeted && ` ${t("Look there: it has just written to you.")}`}
    </p>
    ${done.lacking && html`<p class="bad">${done.lacking}</p>`}
    ${done.refused && html`
      <p class="bad">
        ${t(
          "{title} took no first message: {why} Write to it there first; that is how most chats let it answer.",
          { title: kind.title, why: done.refused },
        )}
      </p>
    `}
    ${!done.owned && html`
      <p>
        ${t(
          "No one has access yet. Start nanobot and write to the bot, then approve yourself as an owner under Channels.",
        )}
      </p>
    `}
    <div class="row end">
      ${quiet ? html`
        <${Button} kind="main" onClick=${onDone}>
          ${t("Go on")}
        <//>
      ` : html`
        <${Button} onClick=${onDone}>${t("Later")}<//>
        <${Button} kind="main" onClick=${restart}>
          ${t("Start again now")}
        <//>
      `}
    </div>
  `;
}

/**
 * @param {{
 *   kind: ChannelKind, values: Record<string, string>, known: boolean,
 *   onChange: (values: Record<string, string>) => void,
 * }} props
 */
const Fields = ({ kind, values, known, onChange }) =>
  kind.fields.map((field) => {
    const hint =
      known && field.secret
        ? t("as before")
        : field.variable
          ? `$${field.variable}`
          : filled(field.usual, values);
    return html`
      <${Field}
        key=${field.key}
        name=${`${field.key}${field.optional ? ` (${t("optional")})` : ""}`}
        about=${
          field.variable ? `${field.asks}. ${t("Empty: that of the environment")}` : field.asks
        }
      >
        <input
          type=${/** @type {"text"} */ (field.secret ? "password" : "text")}
          autocomplete="off"
          spellcheck=${false}
          placeholder=${hint}
          value=${values[field.key]}
          onInput=${(event) => onChange({ ...values, [field.key]: event.currentTarget.value })}
        />
      <//>
    `;
  });

/**
 * `channel`: one that is there and changes; `name`: what a new one is called, "" as its type.
 * @param {{
 *   kind: ChannelKind, channel: Channel | undefined, name: string, quiet: boolean,
 *   onBack: (() => void) | null, onDone: () => void,
 * }} props
 */
function Form({ kind, channel, name: usual, quiet, onBack, onDone }) {
  const [values, setValues] = useState(
    Object.fromEntries(kind.fields.map((field) => [field.key, ""])),
  );
  const [name, setName] = useState(usual);
  const before = channel?.owners.join(", ") ?? "";
  const [people, setPeople] = useState(before);
  const [chat, setChat] = useState("");
  const [done, setDone] = useState(/** @type {Connected | null} */ (null));
  const missing =
    !channel &&
    kind.fields.some(
      (field) => !field.optional && !field.usual && !field.variable && !values[field.key].trim(),
    );
  const settings = Object.entries(values)
    .filter(([, value]) => value.trim())
    .map(([key, value]) => `${key}=${value.trim()}`)
    .join("\n");
  const wanted = { channel: channel?.name ?? kind.name, name: name.trim(), settings };
  const connect = async () =>
    setDone(
      await change("channels connect", {
        ...wanted,
        owners: people,
        greet: people !== before,
        chat,
      }),
    );
  if (done) return html`<${Done} kind=${kind} done=${done} quiet=${quiet} onDone=${onDone} />`;
  return html`
    <form class="stacked">
      ${kind.steps && html`
        <p class="steps-text">
          ${kind.steps}
          ${kind.docs && html`
            <br />
            ${t("Step by step: {place}", { place: kind.docs })}
          `}
        </p>
      `}
      ${usual && html`
        <${Field} name=${t("Name")} about=${t("Letters, digits, - and _")}>
          <input
            type="text"
            value=${name}
            spellcheck=${false}
            onInput=${(event) => setName(event.currentTarget.value)}
          />
        <//>
      `}
      <${Fields} kind=${kind} values=${values} known=${Boolean(channel)} onChange=${setValues} />
      <${Owners}
        kind=${kind}
        people=${people}
        meet=${channel ? null : wanted}
        ready=${!missing}
        onChange=${(given, met) => (setPeople(given), setChat(met))}
      />
      <div class="row end">
        ${onBack && html`<${Button} onClick=${onBack}>${t("Back")}<//>`}
        <${Button} kind="main" type="submit" disabled=${missing} onClick=${connect}>
          ${t("Try it, and keep it")}
        <//>
      </div>
    </form>
  `;
}

/**
 * There is one of this type already: that, or another.
 * @param {{ there: Channel[], onChoose: (name: string) => void }} props
 */
const Which = ({ there, onChoose }) => html`
  <p>${t("There is one already:")}</p>
  <ul class="pick">
    ${there.map(({ name }) => html`
      <li key=${name}>
        <${Button} onClick=${() => onChoose(name)}>${t("Change {name}", { name })}<//>
      </li>
    `)}
    <li>
      <${Button} icon="plus" onClick=${() => onChoose("")}>
        ${t("Add another one")}
      <//>
    </li>
  </ul>
`;

/** A name that no channel has. @param {string} kind @param {Channel[]} channels */
function free(kind, channels) {
  const taken = new Set(channels.map(({ name }) => name));
  let number = 2;
  while (taken.has(`${kind}${number}`)) number += 1;
  return `${kind}${number}`;
}

/**
 * Which chat, and what it needs. `quiet`: nothing is started again by it.
 * @param {{ name: string, quiet?: boolean, onDone: () => void }} props
 */
export function Connect({ name, quiet = false, onDone }) {
  const known = useFetched(
    async (signal) => {
      const [types, channels] = await Promise.all([
        read("channels types", {}, { signal }),
        read("channels list", {}, { signal }),
      ]);
      return { types, channels };
    },
    [name],
  );
  const [chosen, setChosen] = useState("");
  const [which, setWhich] = useState(/** @type {string | null} */ (name || null));
  return html`
    <${Fetched} of=${known} rows=${3}>
      ${({ types, channels }) => {
        const channel = channels.find((each) => each.name === which);
        const kind = types.find((each) => each.name === (channel?.type ?? chosen));
        if (!kind)
          return html`
            <ul class="pick">
              ${types.map((each) => html`
                <li key=${each.name}>
                  <button
                    type="button"
                    class="button"
                    disabled=${Boolean(each.broken)}
                    title=${each.broken}
                    onClick=${() => setChosen(each.name)}
                  >
                    ${each.title}
                  </button>
                </li>
              `)}
            </ul>
          `;
        const there = channels.filter((each) => each.type === kind.name);
        if (which === null && there.length)
          return html`<${Which} there=${there} onChoose=${setWhich} />`;
        const back = () => (setWhich(null), setChosen(""));
        return html`
          <${Form}
            key=${kind.name}
            kind=${kind}
            channel=${channel}
            name=${there.length && !channel ? free(kind.name, channels) : ""}
            quiet=${quiet}
            onBack=${name ? null : back}
            onDone=${onDone}
          />
        `;
      }}
    <//>
  `;
}

/** @param {{ name: string, onClose: () => void, onDone: () => void }} props */
export const Setup = ({ name, onClose, onDone }) => html`
  <${Dialog} title=${name ? t("Change {name}", { name }) : t("Connect a chat")} onClose=${onClose}>
    <${Connect} name=${name} onDone=${onDone} />
  <//>
`;
