/** The chats it lives in: how they are, who requests access, and what did not arrive. */

import { change, may, read } from "../api.js";
import { t } from "../i18n.js";
import { html, useState } from "../lib.js";
import { changed } from "../live.js";
import {
  Button,
  Choice,
  Fetched,
  Head,
  State,
  Unreadable,
  useFetched,
  When,
} from "../parts/basics.js";
import { tell } from "../parts/notices.js";
import { link } from "../router.js";
import { Setup } from "./channels/setup.js";

/** @typedef {import("../gateway.js").Role} Role */

const ROLES = /** @type {const} */ (["guest", "member", "owner"]);

function Health() {
  const status = useFetched((signal) => read("status", {}, { signal }), [changed.value], 10_000);
  const [setup, setSetup] = useState("");
  return html`
    <section>
      <div class="row spread">
        <h2 class="grow">${t("Connected chats")}</h2>
        ${may("channels connect") && html`
          <${Button} icon="plus" onClick=${() => setSetup("new")}>
            ${t("Connect a chat")}
          <//>
        `}
      </div>
      <${Fetched} of=${status} rows=${2}>
        ${({ channels, web }) => html`
          <div class="cards">
            ${Object.entries(channels).map(([name, state]) => html`
              <div class="card" key=${name}>
                <h3>
                  ${name}
                  <${State} state=${state} />
                </h3>
                ${state.includes(" ") && html`<p>${state}</p>`}
                ${may("channels connect") && html`
                  <div class="row">
                    <${Button} kind="small" icon="edit" onClick=${() => setSetup(name)}>
                      ${t("Change")}
                    <//>
                  </div>
                `}
              </div>
            `)}
            <div class="card">
              <h3>
                ${t("This page")}
                <${State} state="ok" />
              </h3>
              <p>${web || location.origin}</p>
            </div>
          </div>
        `}
      <//>
      ${setup && html`
        <${Setup}
          name=${setup === "new" ? "" : setup}
          onClose=${() => setSetup("")}
          onDone=${() => (setSetup(""), status.again())}
        />
      `}
    </section>
  `;
}

/**
 * @typedef {import("../gateway.js").PairingView} PairingView
 * @typedef {import("../gateway.js").OutboxView} OutboxView
 * @typedef {import("../gateway.js").Reads} Reads
 */

/** @param {{ who: PairingView, again: () => void }} props */
function Person({ who, again }) {
  const [role, setRole] = useState(/** @type {Role} */ ("member"));
  const name = who.name || who.who;
  const letIn = async () => {
    await change("pair approve", { code: who.code, role });
    tell(t("{name} is let in.", { name }));
    again();
  };
  const revoke = async () => {
    await change("pair revoke", { who: who.who });
    tell(t("{name} is not let in any more.", { name }));
    again();
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

function People() {
  const people = useFetched(
    (signal) => read("pair list", { limit: 200 }, { signal }),
    [changed.value],
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
          ` : html`<p class="soft">${t("No requests for access.")}</p>`
        }
      <//>
      <${Unreadable} of="pair list" />
    </section>
  `;
}

/** @type {[NonNullable<Reads["outbox list"]["takes"]["state"]>, string][]} */
const OWED = [
  ["", "All"],
  ["dead", "Undelivered"],
  ["pending", "Waiting"],
  ["held", "Held back"],
];

function Outbox() {
  const [state, setState] = useState(OWED[1][0]);
  const messages = useFetched(
    (signal) => read("outbox list", { state, limit: 100 }, { signal }),
    [state, changed.value],
    10_000,
  );
  const retry = async (/** @type {OutboxView} */ { id }) => {
    await change("outbox retry", { id });
    messages.again();
  };
  const drop = async (/** @type {OutboxView} */ { id }) => {
    await change("outbox drop", { id });
    messages.again();
  };
  return html`
    <section>
      <div class="row spread">
        <h2 class="grow">${t("Outbox")}</h2>
        <${Choice}
          label=${t("State")}
          value=${state}
          options=${OWED.map(([key, name]) => /** @type {const} */ ([key, t(name)]))}
          onChange=${setState}
        />
      </div>
      <${Fetched} of=${messages} rows=${2}>
        ${(list) =>
          list.length ? html`
            <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("Outbox")}>
              <table class="table">
                <thead>
                  <tr>
                    <th>${t("State")}</th>
                    <th>${t("Message")}</th>
                    <th>${t("Chat")}</th>
                    <th>${t("Since")}</th>
                    <th>
                      <span class="hidden">${t("Actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  ${list.map((message) => html`
                    <tr key=${message.id}>
                      <td>
                        <${State} state=${message.state} />
                      </td>
                      <td class="wide">
                        ${message.text}
                        ${message.error && html`<small class="reason">${message.error}</small>`}
                      </td>
                      <td>
                        <a href=${link("chat", message.session_key)}>${message.address}</a>
                      </td>
                      <td>
                        <${When} at=${message.created_at} />
                      </td>
                      <td class="number">
                        ${message.state === "dead" && html`
                          <${Button} kind="small" onClick=${() => retry(message)}>
                            ${t("Send again")}
                          <//>
                        `}
                        ${["dead", "pending", "held"].includes(message.state) && html`
                          <${Button}
                            kind="bare"
                            icon="trash"
                            label=${t("Give it up")}
                            onClick=${() => drop(message)}
                          />
                        `}
                      </td>
                    </tr>
                  `)}
                </tbody>
              </table>
            </div>
          ` : html`
            <p class="soft">
              ${state === "dead" ? t("Everything has arrived.") : t("Nothing found.")}
            </p>
          `
        }
      <//>
      <${Unreadable} of="outbox list" />
    </section>
  `;
}

export default function Channels() {
  return html`
    <div class="view">
      <${Head}
        title=${t("Channels")}
        about=${t("Where people talk to the assistant, and who may.")}
      />
      <${Health} />
      <${People} />
      <${Outbox} />
    </div>
  `;
}
