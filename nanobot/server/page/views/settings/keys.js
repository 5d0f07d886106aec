/** All keys of the configuration as a form, made from its schema. */

import { change, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useMemo, useState } from "../../lib.js";
import { Button, Fetched, useFetched } from "../../parts/basics.js";
import { tell } from "../../parts/notices.js";

/**
 * @typedef {import("../../gateway.js").SettingView} Setting
 * @typedef {{
 *   $ref?: string, $defs?: Record<string, Rule>, anyOf?: Rule[], type?: string, enum?: unknown[],
 *   properties?: Record<string, Rule>, additionalProperties?: Rule | boolean,
 * }} Rule a JSON Schema, as far as it is looked at
 */

/**
 * What the schema says of a key: a table of names (providers.NAME) stands for any of them.
 * @param {Rule} schema
 * @param {string} key
 * @returns {Rule}
 */
function ruleOf(schema, key) {
  /** @param {Rule | undefined} rule @returns {Rule | undefined} */
  const follow = (rule) => {
    if (rule?.$ref) return schema.$defs?.[rule.$ref.split("/").at(-1) ?? ""];
    if (rule?.anyOf)
      return follow(
        rule.anyOf.find((each) => each.$ref) ??
          rule.anyOf.find((each) => each.type !== "null") ??
          {},
      );
    return rule;
  };
  let rule = follow(schema);
  for (const part of key.split(".")) {
    rule = follow(
      rule?.properties?.[part] ??
        (typeof rule?.additionalProperties === "object" ? rule.additionalProperties : undefined),
    );
    if (!rule) return {};
  }
  return rule ?? {};
}

/** @param {unknown} value */
const shown = (value) =>
  Array.isArray(value)
    ? value.map((each) => (typeof each === "object" ? JSON.stringify(each) : each)).join(", ")
    : String(value ?? "");

/**
 * @param {{
 *   setting: Setting, rule: Rule, text: string, onInput: (text: string) => void,
 * }} props
 */
function Value({ setting, rule, text, onInput }) {
  const label = setting.key;
  if (rule.enum)
    return html`
      <select
        aria-label=${label}
        value=${text}
        onChange=${(event) => onInput(event.currentTarget.value)}
      >
        ${rule.enum.map((each) => html`
          <option value=${String(each)}>${String(each) || t("(empty)")}</option>
        `)}
      </select>
    `;
  if (rule.type === "boolean" || typeof setting.value === "boolean")
    return html`
      <select
        aria-label=${label}
        value=${text}
        onChange=${(event) => onInput(event.currentTarget.value)}
      >
        <option value="true">${t("yes")}</option>
        <option value="false">${t("no")}</option>
      </select>
    `;
  return html`
    <input
      type=${/** @type {"text"} */ (setting.value === "***" ? "password" : "text")}
      aria-label=${label}
      autocomplete="off"
      value=${text}
      onInput=${(event) => onInput(event.currentTarget.value)}
      placeholder=${setting.value === "***" ? t("set; write another to change it") : ""}
    />
  `;
}

/** @param {{ setting: Setting, schema: Rule, again: () => void }} props */
function Row({ setting, schema, again }) {
  const rule = useMemo(() => ruleOf(schema, setting.key), [schema, setting.key]);
  const before = setting.value === "***" ? "" : shown(setting.written ?? setting.value);
  const [text, setText] = useState(before);
  const fixed = setting.source === "environment";
  const save = async () => {
    await change("config set", { key: setting.key, text });
    tell(t("{key} is written. It holds from the next start on.", { key: setting.key }));
    again();
  };
  const unset = async () => {
    await change("config unset", { key: setting.key });
    tell(t("{key} has its default from the next start on.", { key: setting.key }));
    again();
  };
  return html`
    <li>
      <label>
        <code>${setting.key}</code>
        ${setting.written !== null && html`
          <small class="tag">${t("from the next start on")}</small>
        `}
        ${fixed && html`<small class="tag">${t("from the environment")}</small>`}
      </label>
      <div class="row tight">
        <${Value} setting=${setting} rule=${rule} text=${text} onInput=${setText} />
        ${text !== before && html`
          <${Button} kind="main small" onClick=${save}>
            ${t("Save")}
          <//>
        `}
        ${setting.source === "file" && text === before && html`
          <${Button} kind="bare" icon="retry" label=${t("Back to the default")} onClick=${unset} />
        `}
      </div>
    </li>
  `;
}

export function Keys() {
  const [text, setText] = useState("");
  const [own, setOwn] = useState(false);
  const all = useFetched(async (signal) => {
    const [schema, settings] = await Promise.all([
      read("config schema", {}, { signal }),
      read("config get", {}, { signal }),
    ]);
    return { schema, settings };
  }, []);
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
        ${({ schema, settings }) => {
          const wanted = settings.filter(
            ({ key, source }) =>
              key.toLowerCase().includes(text.trim().toLowerCase()) &&
              (!own || source !== "default"),
          );
          const tables = Map.groupBy
            ? Map.groupBy(wanted, ({ key }) => key.split(".")[0])
            : wanted.reduce((map, each) => {
                const [table] = each.key.split(".");
                return map.set(table, [...(map.get(table) ?? []), each]);
              }, /** @type {Map<string, Setting[]>} */ (new Map()));
          return [...tables].map(([table, rows]) => html`
            <section key=${table}>
              <h2>${table}</h2>
              <ul class="card flush keys">
                ${rows.map((setting) => html`
                  <${Row}
                    key=${`${setting.key}:${JSON.stringify(setting.written)}:${setting.source}`}
                    setting=${setting}
                    schema=${schema}
                    again=${all.again}
                  />
                `)}
              </ul>
            </section>
          `);
        }}
      <//>
    </section>
  `;
}
