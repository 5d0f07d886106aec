/**
 * The model that answers, chosen: one that was found here, one of a known provider, or any other.
 */

import { change, read } from "../../api.js";
import { fixed } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Button, Fetched, useFetched } from "../../parts/basics.js";
import { Field, valueOf } from "../../parts/dialog.js";
import { tell } from "../../parts/notices.js";

/**
 * @typedef {import("../../gateway.js").ProviderView} Provider
 * @typedef {import("../../gateway.js").FoundModel} Found
 * @typedef {import("../../gateway.js").TriedModel} Tried
 * @typedef {import("../../parts/dialog.js").FormEvent} FormEvent
 */

/** With an address alone, and with a name that only libraries know. */
const SERVER = "+server";
const NAMED = "+named";

/**
 * Try a model, and keep it with what it needs where that is not the `usual` address.
 * @param {string} name
 * @param {{ key: string, base: string, usual: string }} given
 * @returns {Promise<Tried>}
 */
export async function keep(name, { key, base, usual }) {
  const provider = name.split("/")[0];
  const tried = await change("models try", { name, key, api_base: base });
  if (base && base !== usual)
    await change("config set", { key: `providers.${provider}.api_base`, text: base });
  if (key) await change("config set", { key: `providers.${provider}.api_key`, text: key });
  await change("config set", { key: "agent.model", text: name, force: true });
  return tried;
}

/**
 * Keep it, and say that it answered.
 * @param {string} name
 * @param {{ key: string, base: string, usual: string }} given
 */
async function keepAndSay(name, given) {
  const tried = await keep(name, given);
  tell(
    t("{model} answered after {seconds} s ({abilities}).", {
      model: tried.name,
      seconds: fixed(tried.seconds, 1),
      abilities: tried.abilities,
    }),
  );
}

/** @param {{ providers: Provider[], found: Found[], onDone: () => void }} props */
function Here({ providers, found, onDone }) {
  const silent = providers.filter(
    ({ name, local }) => local && !found.some((model) => model.name.startsWith(`${name}/`)),
  );
  return html`
    ${found.length > 0 && html`
      <ul class="pick">
        ${found.map(({ name, why }) => html`
          <li key=${name}>
            <${Button}
              kind="tall"
              onClick=${async () => (
                await keepAndSay(name, { key: "", base: "", usual: "" }),
                onDone()
              )}
            >
              <span>
                <b>${name}</b>
                <small>${why}</small>
              </span>
            <//>
          </li>
        `)}
      </ul>
    `}
    ${silent.length > 0 && html`
      <p class="soft">
        ${t("Not running: {names}.", {
          names: silent
            .map(({ title, api_base: base }) => `${title} (${base.replace(/\/v1$/, "")})`)
            .join(", "),
        })}
      </p>
    `}
  `;
}

/** @param {{ providers: Provider[], onDone: () => void }} props */
function Other({ providers, onDone }) {
  const [values, setValues] = useState({ provider: "", model: "", key: "", base: "" });
  const put = (/** @type {keyof typeof values} */ name) => (/** @type {FormEvent} */ event) =>
    setValues({ ...values, [name]: valueOf(event) });
  const chosen = providers.find(({ name }) => name === values.provider);
  const choose = (/** @type {FormEvent} */ { currentTarget: { value } }) => {
    const next = providers.find(({ name }) => name === value);
    setValues({
      provider: value,
      model: next?.model ?? "",
      key: "",
      base: next?.local ? next.api_base : "",
    });
  };
  const model = values.model.trim();
  const name = chosen
    ? `${chosen.name}/${model}`
    : values.provider === SERVER
      ? `custom/${model}`
      : model;
  const whole =
    model &&
    (chosen || (values.provider === SERVER ? values.base.trim() : /^[^/]+\/./.test(model)));
  const given = { key: values.key.trim(), base: values.base.trim(), usual: chosen?.api_base ?? "" };
  return html`
    <form class="stacked">
      <${Field} name=${t("Provider")}>
        <select value=${values.provider} onChange=${choose}>
          <option value="">${t("Choose one")}</option>
          ${providers.map((each) => html`
            <option value=${each.name}>
              ${each.title}
              ${each.has_key ? ` (${t("a key is there")})` : ""}
            </option>
          `)}
          <option value=${SERVER}>${t("Another server, by its address")}</option>
          <option value=${NAMED}>${t("Another provider, by its name")}</option>
        </select>
      <//>
      ${values.provider && html`
        <${Field}
          name=${t("Model")}
          about=${
            values.provider === NAMED &&
            t("As PROVIDER/MODEL, as in bedrock/anthropic.claude-sonnet-4")
          }
        >
          <input type="text" value=${values.model} onInput=${put("model")} spellcheck=${false} />
        <//>
        ${(!chosen || chosen.local) && html`
          <${Field}
            name=${`${t("Address")}${values.provider === NAMED ? ` (${t("optional")})` : ""}`}
            about=${t("Where it listens, as in http://127.0.0.1:11434/v1")}
          >
            <input type="url" value=${values.base} onInput=${put("base")} />
          <//>
        `}
        ${!chosen?.local && html`
          <${Field}
            name=${t("Key")}
            about=${
              chosen?.has_key
                ? t("Empty: the one that is there")
                : t("Saved in a separate file that only you can read")
            }
          >
            <input type="password" autocomplete="off" value=${values.key} onInput=${put("key")} />
          <//>
        `}
        <div class="row end">
          <${Button}
            kind="main"
            type="submit"
            disabled=${!whole}
            onClick=${async () => (await keepAndSay(name, given), onDone())}
          >
            ${t("Try it, and keep it")}
          <//>
        </div>
      `}
    </form>
  `;
}

/** @param {{ now: string, onDone: () => void }} props what answers now */
export function Answering({ now, onDone }) {
  const known = useFetched(async (signal) => {
    const [providers, found] = await Promise.all([
      read("models providers", {}, { signal }),
      read("models found", {}, { signal }),
    ]);
    return { providers, found };
  }, []);
  return html`
    <div class="stacked">
      <p class="soft">${t("Now: {model}", { model: now })}</p>
      <${Fetched} of=${known} rows=${3}>
        ${({ providers, found }) => html`
          <${Here} providers=${providers} found=${found} onDone=${onDone} />
          <${Other} providers=${providers} onDone=${onDone} />
        `}
      <//>
    </div>
  `;
}
