/** The files that people and the assistant write for its prompt, edited in place. */

import { change, read } from "../../api.js";
import { size } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useEffect, useState } from "../../lib.js";
import { changed } from "../../live.js";
import { Button, complain, Fetched, useFetched, When } from "../../parts/basics.js";
import { Markdown } from "../../parts/markdown.js";
import { tell } from "../../parts/notices.js";
import { go } from "../../router.js";

/** @type {Record<string, string>} */
const ABOUT = {
  "AGENTS.md": "How it works and behaves",
  "SOUL.md": "Who it is",
  "USER.md": "Who you are",
  "TOOLS.md": "What to know of tools here",
  "IDENTITY.md": "Its name and looks",
  "MEMORY.md": "Memory, line by line",
  "HEARTBEAT.md": "Tasks of the heartbeat",
  "BOOT.md": "When nanobot starts",
  "SHUTDOWN.md": "Before nanobot stops",
};

/** @typedef {import("../../gateway.js").PromptFile} PromptFile */

/**
 * What was written and not saved, by the name of the file, with what it was made of.
 * @type {Map<string, { text: string, base: PromptFile }>}
 */
const drafts = new Map();

/** @param {{ name: string, onSaved: () => void }} props */
function Editor({ name, onSaved }) {
  const file = useFetched((signal) => read("prompts show", { name }, { signal }), [name]);
  const [text, setText] = useState(drafts.get(name)?.text ?? null);
  const [base, setBase] = useState(drafts.get(name)?.base ?? null);
  const [shown, setShown] = useState(false);
  const dirty = text !== null && base !== null && text !== base.text;
  useEffect(() => {
    // What somebody writes stays, whatever comes meanwhile.
    if (!file.value || dirty) return;
    setBase(file.value);
    setText(file.value.text);
  }, [file.value]);
  useEffect(() => {
    if (dirty) drafts.set(name, { text, base });
    else drafts.delete(name);
  }, [text, base]);
  const save = async () => {
    if (text === null || !base) return;
    const { digest } = await change("prompts write", { name, text, digest: base.digest });
    setBase({ ...base, text, digest });
    tell(t("{name} is saved. New conversations have it.", { name }));
    onSaved();
  };
  return html`
    <section class="card editor">
      <header>
        <h2>${name}</h2>
        <span class="soft">${t(ABOUT[name] ?? "Memory of a person")}</span>
        <div class="actions">
          <${Button} onClick=${() => setShown(!shown)}>${shown ? t("Edit") : t("Preview")}<//>
          ${dirty && html`
            <${Button} onClick=${() => (setText(base.text), file.again())}>
              ${t("Discard changes")}
            <//>
          `}
          <${Button} kind="main" disabled=${!dirty} onClick=${save}>
            ${t("Save")}
          <//>
        </div>
      </header>
      <${Fetched} of=${file}>
        ${() =>
          text === null ? null : shown ? html`<${Markdown} text=${text} />` : html`
            <textarea
              class="code"
              spellcheck=${false}
              aria-label=${name}
              value=${text}
              onInput=${(event) => setText(event.currentTarget.value)}
              onKeyDown=${(event) =>
                (event.ctrlKey || event.metaKey) &&
                event.key === "s" &&
                (event.preventDefault(), dirty && save().catch(complain))
              }
            ></textarea>
          `
        }
      <//>
    </section>
  `;
}

/** @param {{ name: string }} props */
export function Files({ name }) {
  const files = useFetched((signal) => read("prompts list", {}, { signal }), [changed.value]);
  return html`
    <div class="files-view">
      <${Fetched} of=${files}>
        ${(list) => html`
          <ul class="card flush" aria-label=${t("Files")}>
            ${list.map((file) => html`
              <li>
                <button
                  type="button"
                  aria-current=${file.name === name ? "true" : undefined}
                  onClick=${() => go("memory", file.name)}
                >
                  <b>${file.name}</b>
                  <small>
                    ${file.size === null ? (
                      t("not there yet")
                    ) : html`
                      ${size(file.size)} · <${When} at=${file.changed_at} />
                    `}
                  </small>
                </button>
              </li>
            `)}
          </ul>
        `}
      <//>
      <${Editor} key=${name} name=${name} onSaved=${files.again} />
    </div>
  `;
}
