/** What is remembered: searched, accepted, corrected, forgotten, and where it came from. */

import {
  Button,
  change,
  changed,
  Choice,
  Empty,
  Fetched,
  fixed,
  html,
  link,
  read,
  State,
  t,
  tell,
  Unreadable,
  useEffect,
  useFetched,
  useMore,
  useRef,
  useState,
  When,
} from "../../kit.js";
import { Markdown } from "../../parts/markdown.js";

const PATIENCE = 250;
const MOST_FOUND = 50;

/**
 * One as it is kept, or as it was found by words.
 * @typedef {import("../../gateway.js").MemoryView} MemoryView
 * @typedef {import("../../gateway.js").MemoryHit} MemoryHit
 * @typedef {Omit<MemoryHit, "score"> & Partial<MemoryView> & { score?: number }} Memory
 */

/**
 * Where it came from: a run, a conversation, or a file that people edit.
 * @param {{ provenance?: MemoryHit["provenance"] }} props
 */
function From({ provenance = {} }) {
  return html`
    <small>
      ${provenance.run_id ? html`
        <a href=${link("runs", provenance.run_id)}>${t("a run")}</a>
      ` : provenance.file ? html`
        <a href=${link("memory", provenance.file)}>${provenance.file}</a>
      ` : null}
      ${provenance.session_key && html`
        ${" "}
        · <a href=${link("chat", provenance.session_key)}>${provenance.session_key}</a>
      `}
      ${provenance.tainted && html`
        ${" "}
        <span class="tag">${t("from outside")}</span>
      `}
    </small>
  `;
}

/** A person's scope as they are called: it is escaped as a path. @param {string} scope */
function unescaped(scope) {
  try {
    return decodeURIComponent(scope);
  } catch {
    return scope;
  }
}

/**
 * @typedef {import("../../vendor/preact.js").TargetedKeyboardEvent<HTMLTextAreaElement>} Pressed
 */

/**
 * Other words in the place of a memory.
 * @param {{ memory: Memory, onDone: () => void, onCancel: () => void }} props
 */
function Correcting({ memory, onDone, onCancel }) {
  const [text, setText] = useState(memory.text);
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => area.current?.focus(), []);
  const save = async () => {
    await change("memory correct", { id: memory.id, text });
    tell(memory.state === "proposed" ? t("Remembered") : t("Corrected"));
    onDone();
  };
  const press = (/** @type {Pressed} */ event) => {
    if (event.key === "Escape") onCancel();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
      event.currentTarget.form
        ?.querySelector(/** @type {"button"} */ ("button[type=submit]"))
        ?.click();
  };
  return html`
    <form class="stacked">
      <textarea
        ref=${area}
        rows=${3}
        maxlength=${4000}
        aria-label=${t("Correct it")}
        value=${text}
        onInput=${(event) => setText(event.currentTarget.value)}
        onKeyDown=${press}
      ></textarea>
      <div class="row end">
        <${Button} onClick=${onCancel}>${t("Cancel")}<//>
        <${Button}
          kind="main"
          type="submit"
          disabled=${!text.trim() || text === memory.text}
          onClick=${save}
        >
          ${t("Save")}
        <//>
      </div>
    </form>
  `;
}

/** @typedef {"memory accept" | "memory reject" | "memory forget"} Deed */

/** @param {{ memory: Memory, again: () => Promise<void> }} props */
function Row({ memory, again }) {
  const [sure, setSure] = useState(false);
  const [correcting, setCorrecting] = useState(false);
  const act = (/** @type {Deed} */ name, /** @type {string} */ done) => async () => {
    await change(name, { id: memory.id });
    tell(done);
    await again();
  };
  return html`
    <li class="card memory">
      ${correcting ? html`
        <${Correcting}
          memory=${memory}
          onCancel=${() => setCorrecting(false)}
          onDone=${() => (setCorrecting(false), again())}
        />
      ` : html`<${Markdown} text=${memory.text} />`}
      <footer>
        ${memory.state === "proposed" && html`<${State} state=${memory.state} />`}
        <${From} provenance=${memory.provenance} />
        ${memory.score !== undefined && html`
          <small>${t("match {score}", { score: fixed(memory.score, 2) })}</small>
        `}
        ${memory.scope && memory.scope !== "owner" && html`
          <small>${unescaped(memory.scope)}</small>
        `}
        ${memory.kind && html`<small>${t(memory.kind)}</small>`}
        <small>
          <${When} at=${memory.created_at} />
        </small>
        <span class="actions">
          ${memory.state === "proposed" && html`
            <${Button} kind="main small" onClick=${act("memory accept", t("Remembered"))}>
              ${t("Accept")}
            <//>
            <${Button} kind="small" onClick=${act("memory reject", t("Rejected"))}>
              ${t("Reject")}
            <//>
          `}
          ${!correcting && memory.state !== "retracted" && html`
            <${Button}
              kind="bare"
              icon="edit"
              label=${t("Correct it")}
              onClick=${() => setCorrecting(true)}
            />
          `}
          ${sure ? html`
            <${Button} kind="danger small" onClick=${act("memory forget", t("Forgotten"))}>
              ${t("Yes, forget it")}
            <//>
          ` : html`
            <${Button}
              kind="bare"
              icon="trash"
              label=${t("Forget")}
              onClick=${() => setSure(true)}
            />
          `}
        </span>
      </footer>
    </li>
  `;
}

export default function Memories() {
  const [state, setState] = useState(/** @type {"" | "active" | "proposed"} */ (""));
  const [text, setText] = useState("");
  const [wanted, setWanted] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text.trim()), PATIENCE);
    return () => clearTimeout(timer);
  }, [text]);
  const { limit, below } = useMore(200);
  const list = useFetched(
    /** @returns {Promise<Memory[]>} */
    (signal) =>
      wanted
        ? read("memory search", { text: wanted, limit: MOST_FOUND }, { signal })
        : read("memory list", { state, limit }, { signal }),
    [wanted, state, limit, changed.value],
  );
  return html`
    <div class="row spread">
      <input
        type="search"
        class="grow"
        placeholder=${t("Search the memory")}
        aria-label=${t("Search the memory")}
        value=${text}
        onInput=${(event) => setText(event.currentTarget.value)}
      />
      ${!wanted && html`
        <${Choice}
          label=${t("State")}
          value=${state}
          options=${[
            ["", t("All")],
            ["proposed", t("Proposed")],
            ["active", t("Active")],
          ]}
          onChange=${setState}
        />
      `}
    </div>
    <${Fetched} of=${list}>
      ${(memories) =>
        memories.length ? html`
          <ul class="memories">
            ${memories.map((memory) => html`
              <${Row} key=${memory.id} memory=${memory} again=${list.again} />
            `)}
          </ul>
          ${below(memories)}
        ` : html`
          <${Empty}
            icon="memory"
            title=${wanted ? t("Nothing like that is remembered") : t("Nothing is remembered yet")}
          >
            ${t("Facts that people asked to remember, and facts from long conversations.")}
          <//>
        `
      }
    <//>
    <${Unreadable} of="memory list" />
  `;
}
