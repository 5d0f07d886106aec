/** MCP servers, switched on and off. */

import {
  change,
  Fetched,
  html,
  read,
  State,
  Switch,
  t,
  tell,
  Unreadable,
  useFetched,
} from "../../kit.js";

export default function Servers() {
  const servers = useFetched((signal) => read("mcp list", {}, { signal }), []);
  const turn = async (/** @type {import("../../gateway.js").ServerView} */ server) => {
    await change(server.state === "disabled" ? "mcp enable" : "mcp disable", {
      name: server.name,
    });
    tell(t("It holds from the next start on."));
    await servers.again();
  };
  return html`
    <section>
      <h2>${t("MCP servers")}</h2>
      <${Fetched} of=${servers} rows=${2}>
        ${(list) =>
          list.length ? html`
            <ul class="card flush findings">
              ${list.map((server) => html`
                <li key=${server.name}>
                  <${Switch}
                    on=${server.state !== "disabled"}
                    label=${t("Use {name}", { name: server.name })}
                    onChange=${() => turn(server)}
                  />
                  <b>${server.name}</b>
                  <span>
                    ${server.where}
                    ${server.error && html`<small class="bad">${server.error}</small>`}
                  </span>
                  <small>${t("{n} tools", { n: server.tools })}</small>
                  <${State} state=${server.state} />
                </li>
              `)}
            </ul>
          ` : html`<p class="soft">${t("None is configured: nanobot mcp add connects one.")}</p>`
        }
      <//>
      <${Unreadable} of="mcp list" />
    </section>
  `;
}
