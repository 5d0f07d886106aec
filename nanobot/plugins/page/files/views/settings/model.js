/** Which model answers, and whether it does. */

import { change, read } from "../../api.js";
import { fixed } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Button, Fetched, useFetched } from "../../parts/basics.js";
import { Field } from "../../parts/dialog.js";
import { tell } from "../../parts/notices.js";
import { keep } from "./answering.js";

export function Model() {
  const models = useFetched((signal) => read("models list", {}, { signal }), []);
  const [name, setName] = useState("");
  const [tried, setTried] = useState(/** @type {import("./answering.js").Tried | null} */ (null));
  const [provider, setProvider] = useState({ key: "", base: "" });
  const test = async (/** @type {string} */ label) =>
    setTried(await change("models try", { name: label }));
  const take = async () => {
    setTried(
      await keep(name.trim(), { key: provider.key.trim(), base: provider.base.trim(), usual: "" }),
    );
    tell(t("{model} answers from now on.", { model: name.trim() }));
    await models.again();
  };
  return html`
    <section>
      <h2>${t("Configured models")}</h2>
      <${Fetched} of=${models} rows=${2}>
        ${(list) => html`
          <ul class="card flush findings">
            ${list.map((model) => html`
              <li>
                <b>${model.name}</b>
                <span>${model.use ? t(model.use) : ""}</span>
                <${Button} kind="small" onClick=${() => test(model.name)}>
                  ${t("Ask it something")}
                <//>
              </li>
            `)}
          </ul>
        `}
      <//>
      ${tried && html`
        <p class="good" role="status">
          ${t("{model} answered after {seconds} s ({abilities}).", {
            model: tried.name,
            seconds: fixed(tried.seconds, 1),
            abilities: tried.abilities,
          })}
        </p>
      `}
    </section>
    <section>
      <h2>${t("Another model")}</h2>
      <form class="card stacked">
        <div class="two">
          <${Field} name=${t("Model")} about=${t("PROVIDER/MODEL, as in openai/gpt-6-luna")}>
            <input
              type="text"
              value=${name}
              onInput=${(event) => setName(event.currentTarget.value)}
            />
          <//>
          <${Field} name=${t("Key")} about=${t("Saved in a separate file; empty: unchanged")}>
            <input
              type="password"
              autocomplete="off"
              value=${provider.key}
              onInput=${(event) => setProvider({ ...provider, key: event.currentTarget.value })}
            />
          <//>
          <${Field} name=${t("Address")} about=${t("Only for servers that are not well known")}>
            <input
              type="text"
              value=${provider.base}
              placeholder="http://127.0.0.1:11434/v1"
              onInput=${(event) => setProvider({ ...provider, base: event.currentTarget.value })}
            />
          <//>
        </div>
        <div class="row end">
          <${Button} kind="main" type="submit" disabled=${!/^[^/]+\/.+/.test(name)} onClick=${take}>
            ${t("Try it, and keep it")}
          <//>
        </div>
      </form>
    </section>
  `;
}
