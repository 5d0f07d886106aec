/** Rows that could not be read: what is in them, and their way back. */

import { change, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { changed } from "../../live.js";
import { Button, Fetched, useFetched, When } from "../../parts/basics.js";
import { Dialog, Field } from "../../parts/dialog.js";
import { useMore } from "../../parts/list.js";
import { tell } from "../../parts/notices.js";
import { Named } from "../../parts/unreadable.js";

/** @typedef {import("../../gateway.js").Quarantined} Quarantined */

/**
 * A row with what is in its columns. Those that cannot be read are repaired here.
 * @param {{ row: Quarantined, onClose: () => void, onDone: () => void }} props
 */
function Row({ row, onClose, onDone }) {
  const content = useFetched((signal) => read("quarantine show", { id: row.id }, { signal }), []);
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  const restore = async () => {
    const given = Object.entries(values).map(([name, value]) => `${name}=${value}`);
    await change("quarantine restore", { id: row.id, values: given.join("\n") });
    tell(t("It is back."));
    onDone();
  };
  return html`
    <${Dialog} title=${`${row.table} ${row.key}`} onClose=${onClose} wide>
      <p>
        ${row.column}: ${row.reason}
      </p>
      <form class="stacked">
        ${row.column.split(", ").map((name) => html`
          <${Field} name=${t("Value of {name}", { name })}>
            <input
              type="text"
              value=${values[name] ?? ""}
              onInput=${(/** @type {Event & { currentTarget: HTMLInputElement }} */ event) =>
                setValues({ ...values, [name]: event.currentTarget.value })
              }
            />
          <//>
        `)}
        <div class="row end">
          <${Button} kind="main" type="submit" icon="retry" onClick=${restore}>
            ${t("Put it back")}
          <//>
        </div>
      </form>
      <${Fetched} of=${content} rows=${4}>
        ${(shown) =>
          shown.content.map((kept) => html`
            <h3>${kept.table}</h3>
            <dl class="facts">
              ${Object.entries(kept.columns).map(([name, value]) => html`
                <div>
                  <dt>${name}</dt>
                  <dd>${value}</dd>
                </div>
              `)}
            </dl>
          `)
        }
      <//>
    <//>
  `;
}

export function Quarantine() {
  const { limit, below } = useMore(200);
  const rows = useFetched(
    (signal) => read("quarantine list", { limit }, { signal }),
    [limit, changed.value],
  );
  const [open, setOpen] = useState(/** @type {Quarantined | null} */ (null));
  const close = () => setOpen(null);
  return html`
    <section>
      <h2>${t("Rows that could not be read")}</h2>
      <${Fetched} of=${rows} rows=${1}>
        ${(list) =>
          list.length ? html`
            <ul class="card flush findings">
              ${list.map((row) => html`
                <li key=${row.id} class="bad">
                  <${Named} row=${row} />
                  <${When} at=${row.at} />
                  <${Button} kind="small" onClick=${() => setOpen(row)}>
                    ${t("Show or put back")}
                  <//>
                </li>
              `)}
            </ul>
            ${below(list)}
          ` : html`<p class="soft">${t("Every row can be read.")}</p>`
        }
      <//>
      ${open && html`
        <${Row} row=${open} onClose=${close} onDone=${() => (close(), rows.again())} />
      `}
    </section>
  `;
}
