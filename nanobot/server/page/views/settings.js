/** How it is set up: health, model, all keys, policy, skills, servers, who may use this page. */

import { t } from "../i18n.js";
import { html } from "../lib.js";
import { Choice, Head } from "../parts/basics.js";
import { go } from "../router.js";
import { Access } from "./settings/access.js";
import { Health } from "./settings/health.js";
import { Keys } from "./settings/keys.js";
import { Model } from "./settings/model.js";
import { Policy } from "./settings/policy.js";
import { Skills } from "./settings/skills.js";

const PARTS = {
  health: ["Health", Health],
  model: ["Model", Model],
  keys: ["All settings", Keys],
  policy: ["Policy", Policy],
  skills: ["Skills and servers", Skills],
  access: ["Access", Access],
};

export default function Settings({ what }) {
  const [, Part] = PARTS[what] ?? PARTS.health;
  return html`<div class="view">
    <${Head} title=${t("Settings")} about=${t("What is changed here is written into config.toml, and holds from the next start on.")} />
    <div class="tabs"><${Choice} label=${t("Settings")} value=${what in PARTS ? what : "health"} options=${Object.entries(PARTS).map(([key, [name]]) => [key, t(name)])} onChange=${(key) => go("settings", key)} /></div>
    <${Part} />
  </div>`;
}
