/** The people who have access by pairing or request it, in the view Channels. */

import {
  Button,
  change,
  changed,
  Fetched,
  html,
  read,
  State,
  t,
  tell,
  Unreadable,
  useFetched,
  useMore,
  useState,
  When,
} from "../../kit.js";

/**
 * @typedef {import("../../gateway.js").PairingView} PairingView
 * @typedef {import("../../gateway.js").Role} Role
 */

const ROLES = /** @type {const} */ (["guest", "member", "owner"]);

/** @param {{ who: PairingView, again: () => Promise<void> }} props */
function Person({ who, again }) {
  const [role, setRole] = useState(/** @type {Role} */ ("member"));
  const name = who.name || who.who;
  const letIn = async () => {
    await change("pair approve", { code: who.code, role });
    tell(t("{name} is let in.", { name }));
    await again();
  };
  const revoke = async () => {
    await change("pair revoke", { who: who.who });
    tell(t("{name} is not let in any more.", { name }));
    await again();
  };
  return html`
    <tr>
      <td class="wide">
        <b>${who.name || who.who}</b> <small>${who.who}</small>
      </td>
      <td>
        <${State} state=${who.state} />
      </td>
      <td>${who.role ? t(who.role) : ""}</td>
      <td>
        <${When} at=${who.asked_at} />
      </td>
      <td class="number">
        <div class="row tight end">
          ${who.state === "asked" ? html`
            <select
              aria-label=${t("Role")}
              value=${role}
              onChange=${(event) => setRole(/** @type {Role} */ (event.currentTarget.value))}
            >
              ${ROLES.map((each) => html`<option value=${each}>${t(each)}</option>`)}
            </select>
            <${Button} kind="main small" onClick=${letIn}>
              ${t("Let in")}
            <//>
          ` : (
            who.state === "approved" && html`
              <${Button} kind="small" onClick=${revoke}>
                ${t("Revoke")}
              <//>
            `
          )}
        </div>
      </td>
    </tr>
  `;
}

export default function People() {
  const { limit, below } = useMore(200);
  const people = useFetched(
    (signal) => read("pair list", { limit }, { signal }),
    [limit, changed.value],
    10_000,
  );
  return html`
    <section>
      <h2>${t("People")}</h2>
      <${Fetched} of=${people} rows=${2}>
        ${(list) =>
          list.length ? html`
            <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("People")}>
              <table class="table">
                <thead>
                  <tr>
                    <th>${t("Who")}</th>
                    <th>${t("State")}</th>
                    <th>${t("Role")}</th>
                    <th>${t("Asked")}</th>
                    <th>
                      <span class="hidden">${t("Actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  ${list.map((who) => html`
                    <${Person} key=${who.who} who=${who} again=${people.again} />
                  `)}
                </tbody>
              </table>
            </div>
            ${below(list)}
          ` : html`<p class="soft">${t("No requests for access.")}</p>`
        }
      <//>
      <${Unreadable} of="pair list" />
    </section>
  `;
}
