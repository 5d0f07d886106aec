/** How this browser shows the page: in which colours and in which language. */

import { language, LANGUAGES, speak, t } from "../../i18n.js";
import { html } from "../../lib.js";
import { Field } from "../../parts/dialog.js";
import { Notifications } from "./notify.js";
import { choose, chosen } from "../../theme.js";

const COLOURS = { "": "As the system has it", "light": "Light", "dark": "Dark" };

export function Appearance() {
  return html`
    <section class="stacked">
      <p class="soft">${t("This holds for this browser alone.")}</p>
      <div class="card stacked">
        <div class="two">
          <${Field} name=${t("Colours")}>
            <select value=${chosen.value} onChange=${(event) => choose(event.currentTarget.value)}>
              ${Object.entries(COLOURS).map(([name, text]) => html`
                <option value=${name}>${t(text)}</option>
              `)}
            </select>
          <//>
          <${Field} name=${t("Language")}>
            <select value=${language.value} onChange=${(event) => speak(event.currentTarget.value)}>
              ${Object.entries(LANGUAGES).map(([name, text]) => html`
                <option value=${name}>${text}</option>
              `)}
            </select>
          <//>
        </div>
      </div>
      <${Notifications} />
    </section>
  `;
}
