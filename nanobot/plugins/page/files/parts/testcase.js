/** Test cases: made of a run with one press, also while an answer is rated down. */

import { change, may } from "../api.js";
import { t } from "../i18n.js";
import { html } from "../lib.js";
import { Button } from "./basics.js";
import { tell } from "./notices.js";

/** Make a case of a run, and say where it is. @param {string} run */
async function make(run) {
  const { file } = await change("evals add", { run });
  tell(t("The test case is in {file}", { file }));
}

/** @param {{ run: string, small?: boolean }} props */
export function MakeCase({ run, small = false }) {
  if (!may("evals add")) return null;
  const label = t("Make a test case");
  if (small)
    return html`<${Button} kind="bare" icon="case" label=${label} onClick=${() => make(run)} />`;
  return html`
    <${Button} icon="case" onClick=${() => make(run)}>
      ${label}
    <//>
  `;
}

/**
 * A thumb down: for owners it makes a case as well, which names the fault.
 * @param {{ run: string }} props
 */
export function ThumbDown({ run }) {
  if (!may("runs feedback")) return null;
  const press = async () => {
    await change("runs feedback", { verdict: "down", run });
    if (may("evals add")) await make(run);
    else tell(t("Rated down"));
  };
  const label = may("evals add") ? t("Bad answer: make a test case") : t("Bad answer");
  return html`<${Button} kind="bare" icon="thumb" label=${label} onClick=${press} />`;
}
