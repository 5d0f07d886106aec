/** Connecting a chat: what its adapter wants to know, tried before it is kept. */

import { change, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Button, Dialog, Fetched, Field, useFetched } from "../../parts/basics.js";
import { tell } from "../../parts/notices.js";

function Form({ kind, name, owners, quiet, onBack, onDone }) {
  const [values, setValues] = useState(Object.fromEntries(kind.fields.map((field) => [field.key, ""])));
  const [people, setPeople] = useState(owners.join(", "));
  const [done, setDone] = useState(/** @type {{ who: string, lacking: string } | null} */ (null));
  const missing = !name && kind.fields.some((field) => !field.optional && !field.usual && !values[field.key].trim());
  const connect = async () => {
    const settings = Object.entries(values).filter(([, value]) => value.trim()).map(([key, value]) => `${key}=${value.trim()}`).join("\n");
    setDone(await change("channels connect", { channel: name || kind.name, settings, owners: people }));
  };
  const restart = async () => {
    await change("restart");
    tell(t("It is starting again."));
    onDone();
  };
  if (done) {
    return html`<p>${t("{who} let it in. It is served after the next start.", { who: done.who })}</p>
      ${done.lacking && html`<p class="bad">${done.lacking}</p>`}
      <div class="row end">${quiet ? html`<${Button} kind="main" onClick=${onDone}>${t("Go on")}<//>` : html`<${Button} onClick=${onDone}>${t("Later")}<//><${Button} kind="main" onClick=${restart}>${t("Start again now")}<//>`}</div>`;
  }
  return html`<form class="stacked" onSubmit=${(event) => event.preventDefault()}>
    ${kind.steps && html`<p class="steps-text">${kind.steps}</p>`}
    ${kind.fields.map((field) => html`<${Field} key=${field.key} name=${`${field.key}${field.optional ? ` (${t("optional")})` : ""}`} about=${field.asks}>
      <input type=${field.secret ? "password" : "text"} autocomplete="off" placeholder=${name && field.secret ? t("as before") : field.usual} value=${values[field.key]} onInput=${(event) => setValues({ ...values, [field.key]: event.target.value })} /><//>`)}
    <${Field} name=${t("Owners")} about=${`${kind.person}. ${t("Several with commas. Owners may do everything.")}`}>
      <input type="text" value=${people} onInput=${(event) => setPeople(event.target.value)} /><//>
    <div class="row end">${onBack && html`<${Button} onClick=${onBack}>${t("Back")}<//>`}
      <${Button} kind="main" disabled=${missing} onClick=${connect}>${t("Try it, and keep it")}<//></div>
  </form>`;
}

/**
 * Which chat, and what it needs. `quiet`: nothing is started again by it.
 * @param {{ name: string, quiet?: boolean, onDone: () => void }} props
 */
export function Connect({ name, quiet = false, onDone }) {
  const known = useFetched(async (signal) => {
    const [types, channels] = await Promise.all([read("channels types", {}, { signal }), read("channels list", {}, { signal })]);
    return { types, channel: channels.find((channel) => channel.name === name) };
  }, [name]);
  const [chosen, setChosen] = useState("");
  return html`<${Fetched} of=${known} rows=${3}>${({ types, channel }) => {
    const kind = types.find((each) => each.name === (channel?.type ?? chosen));
    if (kind) return html`<${Form} key=${kind.name} kind=${kind} name=${name} owners=${channel?.owners ?? []} quiet=${quiet} onBack=${name ? null : () => setChosen("")} onDone=${onDone} />`;
    return html`<ul class="pick">${types.map((each) => html`<li><button type="button" class="button" disabled=${Boolean(each.broken)} title=${each.broken} onClick=${() => setChosen(each.name)}>${each.title}</button></li>`)}</ul>`;
  }}<//>`;
}

/** @param {{ name: string, onClose: () => void, onDone: () => void }} props */
export const Setup = ({ name, onClose, onDone }) => html`
  <${Dialog} title=${name ? t("Change {name}", { name }) : t("Connect a chat")} onClose=${onClose}><${Connect} name=${name} onDone=${onDone} /><//>`;
