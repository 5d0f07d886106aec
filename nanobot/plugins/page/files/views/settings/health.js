/** What works and what does not, with its remedies. */

import { change, may, me } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useRef } from "../../lib.js";
import { Button, Fetched, useFetched } from "../../parts/basics.js";
import { Icon } from "../../parts/icons.js";
import { tell } from "../../parts/notices.js";
import { go } from "../../router.js";
import { Quarantine } from "./quarantine.js";

/** @type {Record<string, string>} */
const ICONS = { ok: "check", warning: "warning", broken: "close" };
/** @type {Record<string, string>} */
const TONES = { ok: "good", warning: "wait", broken: "bad" };

/** The views of plugins that belong here. */
const beside = () => (me.value?.views ?? []).filter(({ place }) => place === "health");

export function Health() {
  const mending = useRef(false);
  const found = useFetched(() => {
    const fix = mending.current;
    mending.current = false;
    return change("doctor", { fix });
  }, []);
  const mend = () => {
    mending.current = true;
    return found.again();
  };
  const restart = async () => {
    await change("restart");
    tell(t("It is starting again."));
  };
  return html`
    <section>
      <div class="row spread">
        <span class="grow soft">
          ${t("Everything that has to work is looked at, the model and the chats too.")}
        </span>
        <${Button} icon="retry" onClick=${found.again}>
          ${t("Look again")}
        <//>
        ${beside().map(({ name, title, icon }) => html`
          <${Button} icon=${icon} onClick=${() => go(name)}>
            ${t(title)}
          <//>
        `)}
        <${Button} onClick=${restart}>${t("Start again")}<//>
      </div>
      <${Fetched} of=${found} rows=${9}>
        ${(findings) => html`
          <ul class="card flush findings">
            ${findings.map(({ about, level, text, remedy, mendable }) => html`
              <li class=${TONES[level]}>
                <span class=${`state ${TONES[level]}`}>
                  <${Icon} name=${ICONS[level]} size=${14} />
                  <span class="hidden">${t(level)}</span>
                </span>
                <b>${t(about)}</b>
                <span>
                  ${text}
                  ${remedy && html`<small>${remedy}</small>`}
                </span>
                ${mendable && html`
                  <${Button} kind="small" onClick=${mend}>
                    ${t("Mend it")}
                  <//>
                `}
              </li>
            `)}
          </ul>
        `}
      <//>
    </section>
    ${may("quarantine list") && html`<${Quarantine} />`}
  `;
}
