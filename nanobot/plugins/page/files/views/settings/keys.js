/** All keys of the configuration as a form, made from what the gateway declares of them. */

import { change, read } from "../../api.js";
import { count } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useEffect, useRef, useState } from "../../lib.js";
import { Button, Fetched, said, useFetched } from "../../parts/basics.js";
import { tell } from "../../parts/notices.js";
import { told } from "./told.js";

/** @typedef {import("../../gateway.js").SettingView} Setting */

/** What the tables are called. @type {Record<string, string>} */
const TABLES = {
  agent: "The assistant",
  providers: "Ways to models",
  channels: "Chat platforms",
  voice: "Voice",
  web: "The page and the API",
  tools: "Tools",
  memory: "Memory",
  policy: "Policy",
  lifecycle: "Start and end",
  budgets: "Budgets",
  skills: "Skills",
  mcp: "MCP servers",
  heartbeat: "Heartbeat",
  hooks: "Webhooks",
  events: "This machine",
  quiet: "Quiet hours",
  language: "Language",
  triggers: "Triggers of packages",
  retention: "Retention",
  plugins: "Plugins",
};

/** @param {string} key */
const tableOf = (key) => (key.includes(".") ? key.split(".")[0] : "");

/** What a table is called; others' tables have only their own names. @param {string} table */
const headingOf = (table) =>
  t(
    TABLES[table] ??
      (table ? table[0].toUpperCase() + table.slice(1).replaceAll("_", " ") : "General"),
  );

/** @param {unknown} value */
const shown = (value) =>
  Array.isArray(value)
    ? value.map((each) => (typeof each === "object" ? JSON.stringify(each) : each)).join(", ")
    : String(value ?? "");

/** @param {unknown} value */
const secret = (value) => value === "***";

/** What a key takes, in a few words. @param {Setting} setting */
function range({ least, most, above, kind, choices }) {
  if (kind === "list" && choices.length)
    return t("any of {choices}", { choices: choices.join(", ") });
  if (least === null) return "";
  const values = { least: count(least), most: most === null ? "" : count(most) };
  if (most === null) return above ? t("above {least}", values) : t("from {least}", values);
  return above ? t("above {least}, to {most}", values) : t("{least} to {most}", values);
}

/**
 * @param {{
 *   setting: Setting, text: string, wrong: boolean, onInput: (text: string) => void,
 * }} props
 */
function Value({ setting, text, wrong, onInput }) {
  const { key, kind, choices, least, most } = setting;
  const given = {
    "id": `key:${key}`,
    "aria-describedby": `about:${key}`,
    "aria-invalid": wrong ? /** @type {"true"} */ ("true") : undefined,
    "aria-label": key,
    "disabled": setting.source === "environment",
  };
  if (kind === "choice" || kind === "boolean") {
    const options = kind === "choice" ? choices : ["true", "false"];
    const names = /** @type {Record<string, string>} */ ({ true: t("yes"), false: t("no") });
    return html`
      <select ...${given} value=${text} onChange=${(event) => onInput(event.currentTarget.value)}>
        ${text === "" && !options.includes("") && html`<option value="">${t("(empty)")}</option>`}
        ${options.map((each) => html`
          <option value=${each}>${kind === "boolean" ? names[each] : each || t("(empty)")}</option>
        `)}
      </select>
    `;
  }
  const number = kind === "integer" || kind === "number";
  return html`
    <input
      ...${given}
      type=${/** @type {"text"} */ (kind === "secret" ? "password" : number ? "number" : "text")}
      min=${number && least !== null ? least : undefined}
      max=${number && most !== null ? most : undefined}
      step=${kind === "integer" ? 1 : number ? "any" : undefined}
      autocomplete="off"
      value=${text}
      onInput=${(event) => onInput(event.currentTarget.value)}
      placeholder=${
        secret(setting.value)
          ? t("set; write another to change it")
          : kind === "list"
            ? t("separated by commas")
            : ""
      }
    />
  `;
}

/** @param {{ setting: Setting, again: () => Promise<void> }} props */
function Row({ setting, again }) {
  const { key, kind } = setting;
  const before = secret(setting.value) ? "" : shown(setting.written ?? setting.value);
  const [text, setText] = useState(before);
  const [wrong, setWrong] = useState("");
  const base = useRef(before);
  useEffect(() => {
    // What somebody writes stays, whatever comes meanwhile.
    const was = base.current;
    base.current = before;
    setText((now) => (now === was ? before : now));
  }, [before]);
  const ask = async (/** @type {() => Promise<import("./told.js").Changed>} */ asking) => {
    try {
      tell(told(await asking()));
      setWrong("");
      if (secret(setting.value)) setText("");
      await again();
    } catch (error) {
      setWrong(said(error));
    }
  };
  const save = () => {
    const field = /** @type {HTMLInputElement} */ (document.getElementById(`key:${key}`));
    if (!field.checkValidity()) return setWrong(field.validationMessage);
    return ask(() => change("config set", { key, text }));
  };
  const unset = () => ask(() => change("config unset", { key }));
  const usual = setting.default === null || kind === "table" ? "" : shown(setting.default);
  const facts = [
    setting.unit && t(setting.unit),
    range(setting),
    usual &&
      t("usually {value}", {
        value: kind === "boolean" ? t(usual === "true" ? "yes" : "no") : usual,
      }),
    setting.applies === "restart" ? t("after a restart") : "",
  ].filter(Boolean);
  return html`
    <li>
      <label for=${`key:${key}`}>
        <span>${setting.about.replaceAll("`", "") || key}</span>
        <small class="soft" id=${`about:${key}`}>
          <code>${key}</code>
          ${facts.length > 0 && ` · ${facts.join(" · ")}`}
        </small>
        ${setting.written !== null && html`
          <small class="tag">
            ${t("waits for a restart: {value}", { value: shown(setting.written) })}
          </small>
        `}
        ${setting.source === "environment" && html`
          <small class="tag">${t("from the environment")}</small>
        `}
      </label>
      <form class="row tight" novalidate>
        ${kind === "table" ? html`
          <span class="soft grow">${shown(setting.value) || t("none")} (config.toml)</span>
        ` : html`
          <${Value}
            setting=${setting}
            text=${text}
            wrong=${Boolean(wrong)}
            onInput=${(/** @type {string} */ typed) => (setText(typed), setWrong(""))}
          />
        `}
        ${text !== before && html`
          <${Button} kind="main small" type="submit" onClick=${save}>
            ${t("Save")}
          <//>
        `}
        ${setting.source === "file" && text === before && html`
          <${Button} kind="bare" icon="retry" label=${t("Back to the default")} onClick=${unset} />
        `}
        ${wrong && html`
          <small class="bad wrong" role="alert">
            ${wrong}
          </small>
        `}
      </form>
    </li>
  `;
}

/**
 * Whether a key is meant by what was typed.
 * @param {Setting} setting
 * @param {string} text
 */
const meant = ({ key, about }, text) =>
  [key, about, headingOf(tableOf(key))].some((each) => each.toLowerCase().includes(text));

/** @param {Setting[]} settings @returns {[string, Setting[]][]} */
function byTable(settings) {
  /** @type {Map<string, Setting[]>} */
  const tables = new Map();
  for (const setting of settings) {
    const table = tableOf(setting.key);
    tables.set(table, [...(tables.get(table) ?? []), setting]);
  }
  return [...tables];
}

export function Keys() {
  const [text, setText] = useState("");
  const [own, setOwn] = useState(false);
  const all = useFetched((signal) => read("config get", {}, { signal }), []);
  return html`
    <section>
      <div class="row spread">
        <input
          type="search"
          class="grow"
          placeholder=${t("Search the settings")}
          aria-label=${t("Search the settings")}
          value=${text}
          onInput=${(event) => setText(event.currentTarget.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked=${own}
            onChange=${(event) => setOwn(event.currentTarget.checked)}
          />${" "}
          ${t("Only what differs from the defaults")}
        </label>
      </div>
      <${Fetched} of=${all} rows=${12}>
        ${(settings) => {
          const wanted = settings.filter(
            (setting) =>
              meant(setting, text.trim().toLowerCase()) && (!own || setting.source !== "default"),
          );
          if (!wanted.length) return html`<p class="nothing">${t("No setting is like that.")}</p>`;
          return byTable(wanted).map(([table, rows]) => html`
            <section key=${table}>
              <h2>${headingOf(table)}</h2>
              <ul class="card flush keylist">
                ${rows.map((setting) => html`
                  <${Row} key=${setting.key} setting=${setting} again=${all.again} />
                `)}
              </ul>
            </section>
          `);
        }}
      <//>
    </section>
  `;
}
