/** How it is set up: health, model, all keys, policy, skills, servers, who may use this page. */

import { may } from "../api.js";
import { t } from "../i18n.js";
import { html } from "../lib.js";
import { Choice } from "../parts/basics.js";
import { Head } from "../parts/list.js";
import { Off } from "../parts/off.js";
import { go } from "../router.js";
import { Access } from "./settings/access.js";
import { Appearance } from "./settings/appearance.js";
import { Health } from "./settings/health.js";
import { Keys } from "./settings/keys.js";
import { Model } from "./settings/model.js";
import { Policy } from "./settings/policy.js";
import { Skills } from "./settings/skills.js";
import { Start } from "./settings/start.js";

/** @typedef {import("../vendor/preact.js").ComponentType<{ what: string }>} Part */

/** A part that changes settings, or why it cannot. @param {Part} Part @returns {Part} */
function changing(Part) {
  return (props) =>
    may("config set") ? html`<${Part} ...${props} />` : html`<${Off} plugin="configuration" />`;
}

/** @type {Record<string, [string, Part, keyof import("../gateway.js").Changes | ""]>} */
const PARTS = {
  health: ["Health", Health, "doctor"],
  model: ["Model", changing(Model), "models try"],
  keys: ["All settings", changing(Keys), "plugins on"],
  policy: ["Policy", Policy, "security trust"],
  skills: ["Skills and servers", Skills, "plugins on"],
  access: ["Access", Access, ""],
  appearance: ["Appearance", Appearance, ""],
  start: ["First steps", Start, "config set"],
};

/** @param {{ what: string }} props a part of it, and what in that: "start:persona" */
export default function Settings({ what }) {
  const [name, within = ""] = what.split(":");
  const parts = Object.entries(PARTS).filter(([, [, , needs]]) => !needs || may(needs));
  const [first] = parts[0];
  const part = parts.some(([key]) => key === name) ? name : first;
  const [, Part] = PARTS[part];
  return html`
    <div class="view">
      <${Head}
        title=${t("Settings")}
        about=${
          may("config set")
            ? t(
                "Changes here are saved in config.toml. Most take effect at once; the others say that they need a restart.",
              )
            : ""
        }
      />
      <div class="tabs">
        <${Choice}
          label=${t("Settings")}
          value=${part}
          options=${parts.map(([key, [title]]) => [key, t(title)])}
          onChange=${(key) => go("settings", key)}
        />
      </div>
      <${Part} what=${within} />
    </div>
  `;
}
