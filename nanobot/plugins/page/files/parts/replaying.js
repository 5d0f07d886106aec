/** Replays: a run once more without a model, compared byte for byte. */

import { may, read } from "../api.js";
import { t } from "../i18n.js";
import { html } from "../lib.js";
import { Button } from "./basics.js";
import { tell } from "./notices.js";

/** @param {{ run: string }} props */
export function Replay({ run }) {
  if (!may("runs replay")) return null;
  const press = async () => {
    const [{ steps, requests, compared }] = await read("runs replay", { name: run });
    tell(
      t("Replayed: {steps} steps and {compared} of {requests} requests are the same", {
        ...{ steps, compared, requests },
      }),
    );
  };
  return html`
    <${Button} icon="play" onClick=${press}>
      ${t("Replay")}
    <//>
  `;
}
