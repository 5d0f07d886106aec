/** Who may use this page and the HTTP API: programs by their tokens, browsers by their cookies. */

import { change, may, me, post, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { changed } from "../../live.js";
import { end } from "../../notified.js";
import { Button, Fetched, Unreadable, useFetched, When } from "../../parts/basics.js";
import { Field, valueOf } from "../../parts/dialog.js";
import { copy } from "../../parts/copying.js";

/**
 * @typedef {import("../../gateway.js").Role} Role
 * @typedef {import("../../parts/dialog.js").FormEvent} FormEvent
 */

/** @type {Role[]} */
const ROLES = ["member", "guest", "owner"];

/** Who this is, and a way out. */
function You() {
  const leave = async () => {
    await end().catch(() => undefined);
    await post("/api/logout", {});
    location.reload();
  };
  return html`
    <section>
      <div class="row spread">
        <h2 class="grow">
          ${t("You are {name}, as {role}", {
            name: me.value?.person || me.value?.name || "",
            role: t(me.value?.role ?? ""),
          })}
        </h2>
        <${Button} onClick=${leave}>${t("Log out")}<//>
      </div>
    </section>
  `;
}

export function Access() {
  return html`
    <${You} />
    ${may("web tokens list") && html`<${Others} />`}
  `;
}

/** Who else may use it, and how somebody is let in. */
function Others() {
  const tokens = useFetched((signal) => read("web tokens list", {}, { signal }), [changed.value]);
  const [values, setValues] = useState({ name: "", role: ROLES[0], days: 90 });
  const [made, setMade] = useState(/** @type {{ token: string } | null} */ (null));
  const put = (/** @type {keyof typeof values} */ name) => (/** @type {FormEvent} */ event) =>
    setValues({ ...values, [name]: valueOf(event) });
  const add = async () => {
    setMade(await change("web tokens add", { ...values, days: Number(values.days) }));
    tokens.again();
  };
  const invite = async () => {
    const { name, role } = values;
    setMade({ token: (await change("web link", { name, role })).url });
  };
  const revoke = (/** @type {string} */ name) => async () => (
    await change("web tokens revoke", { name }),
    tokens.again()
  );
  return html`
    <section>
      <h2>${t("Tokens and browsers")}</h2>
      <${Fetched} of=${tokens} rows=${2}>
        ${(list) => html`
          <ul class="card flush findings">
            ${list.map((token) => html`
              <li key=${`${token.kind}${token.name}`}>
                <b>${token.name}</b>
                <span>
                  ${t(token.kind)} · ${t(token.role)}
                  ${token.used_at && html`
                    ${" "}
                    · <${When} at=${token.used_at} />
                  `}
                  ${token.expires_at && html`
                    <small>
                      ${t("ends")} <${When} at=${token.expires_at} />
                    </small>
                  `}
                </span>
                <${Button} kind="small" onClick=${revoke(token.name)}>
                  ${t("Revoke")}
                <//>
              </li>
            `)}
          </ul>
        `}
      <//>
      <${Unreadable} of="web tokens list" />
    </section>
    <section>
      <h2>${t("Give a person access")}</h2>
      <p>${t("A link logs one browser in, within 10 minutes. A token is for programs.")}</p>
      <form class="card stacked">
        <div class="two">
          <${Field} name=${t("Name")}>
            <input type="text" value=${values.name} onInput=${put("name")} maxlength=${40} />
          <//>
          <${Field} name=${t("Role")}>
            <select value=${values.role} onChange=${put("role")}>
              ${ROLES.map((role) => html`<option value=${role}>${t(role)}</option>`)}
            </select>
          <//>
          <${Field} name=${t("Days")} about=${t("0: it does not end")}>
            <input
              type="number"
              min="0"
              max="3660"
              required
              value=${values.days}
              onInput=${put("days")}
            />
          <//>
        </div>
        <div class="row end">
          <${Button} disabled=${!values.name.trim()} onClick=${invite}>
            ${t("Make a link")}
          <//>
          <${Button} kind="main" type="submit" disabled=${!values.name.trim()} onClick=${add}>
            ${t("Make a token")}
          <//>
        </div>
        ${made && html`
          <p role="status">
            ${t("This is shown once:")} <code class="token">${made.token}</code>${" "}
            <${Button} kind="small" icon="copy" onClick=${() => copy(made.token)}>
              ${t("Copy")}
            <//>
          </p>
        `}
      </form>
    </section>
  `;
}
