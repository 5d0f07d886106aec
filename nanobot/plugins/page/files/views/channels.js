/** The chats it lives in: how they are, who may write there, and what did not arrive. */

import { change, may, read } from "../api.js";
import { t } from "../i18n.js";
import { html, useState } from "../lib.js";
import { changed } from "../live.js";
import { Added } from "../parts/added.js";
import { Button, Choice, Fetched, Unreadable, useFetched, When } from "../parts/basics.js";
import { Head, State, useMore } from "../parts/list.js";
import { Off } from "../parts/off.js";
import { link } from "../router.js";
import { Setup } from "./channels/setup.js";

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
 * @typedef {import("../gateway.js").OutboxView} OutboxView
 * @typedef {import("../gateway.js").Reads} Reads
 */

/** @type {[NonNullable<Reads["outbox list"]["takes"]["state"]>, string][]} */
const OWED = [
  ["", "All"],
  ["dead", "Undelivered"],
  ["pending", "Waiting"],
  ["held", "Held back"],
];

function Outbox() {
  const [state, setState] = useState(OWED[1][0]);
  const { limit, below } = useMore(100);
  const messages = useFetched(
    (signal) => read("outbox list", { state, limit }, { signal }),
    [state, limit, changed.value],
    10_000,
  );
  const retry = async (/** @type {OutboxView} */ { id }) => {
    await change("outbox retry", { id });
    await messages.again();
  };
  const drop = async (/** @type {OutboxView} */ { id }) => {
    await change("outbox drop", { id });
    await messages.again();
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
            ${below(list)}
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
      ${may("status") ? html`<${Health} />` : html`<${Off} plugin="top" />`}
      <${Added} place="channels" />
      ${may("outbox list") ? html`<${Outbox} />` : html`
        <section>
          <h2>${t("Outbox")}</h2>
          <${Off} plugin="runs" />
        </section>
      `}
    </div>
  `;
}
