/** Where the next message is written: with files, commands, another model, and a way to stop. */

import { change, may, newKey, read, request } from "../../api.js";
import { size } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useEffect, useRef, useState } from "../../lib.js";
import { Button, complain, said, useFetched } from "../../parts/basics.js";
import { Icon } from "../../parts/icons.js";
import { tell } from "../../parts/notices.js";

const TALLEST = 240;

/**
 * @template {EventTarget} T
 * @typedef {import("../../vendor/preact.js").TargetedEvent<T>} ChangeOf
 */
/** @typedef {import("../../gateway.js").SentFile} SentFile */

/** The model that answers here, and those that could. @param {{ session: string }} props */
function Model({ session }) {
  const model = useFetched(async () => {
    const [here, options] = await Promise.all([change("model", { session }), read("models list")]);
    return {
      current: here.model,
      names: [...new Set([here.model, ...options.map(({ name }) => name)])],
    };
  }, [session]);
  if (!model.value) return null;
  const choose = async (/** @type {ChangeOf<HTMLSelectElement>} */ event) => {
    try {
      const { model: name } = await change("model", { session, name: event.currentTarget.value });
      tell(t("{model} answers here from now on.", { model: name }));
    } catch (error) {
      complain(error);
    }
    model.again();
  };
  return html`
    <label class="model">
      <span class="hidden">${t("Model")}</span>
      <select value=${model.value.current} onChange=${choose}>
        ${model.value.names.map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
    </label>
  `;
}

/**
 * A file goes up at once, and is named in the message.
 * @param {File} file
 * @returns {Promise<SentFile>}
 */
const upload = async (file) =>
  (
    await request(`/api/uploads?name=${encodeURIComponent(file.name)}`, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream" },
      body: file,
    })
  ).json();

/**
 * @param {{
 *   session: string, draft: { text: string, at: number, send?: boolean } | null, running: boolean,
 *   onSend: (message: { text: string, files: SentFile[], key: string }) => Promise<void>,
 *   onStop: () => unknown,
 * }} props
 */
export function Composer({ session, draft, running, onSend, onStop }) {
  const [text, setText] = useState(() => sessionStorage.getItem(`draft:${session}`) ?? "");
  const [files, setFiles] = useState(/** @type {SentFile[]} */ ([]));
  const [coming, setComing] = useState(/** @type {string[]} */ ([]));
  /** Whether it is sent as soon as its files are there. */
  const [due, setDue] = useState(false);
  const [over, setOver] = useState(false);
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => {
    if (!draft) return;
    if (draft.send) send(draft.text, []);
    else (setText(draft.text), area.current?.focus());
  }, [draft]);
  useEffect(() => {
    sessionStorage.setItem(`draft:${session}`, text);
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, TALLEST)}px`;
  }, [text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) area.current?.focus();
  }, [session]);

  const take = async (/** @type {File[]} */ list) => {
    setComing((before) => [...before, ...list.map(({ name }) => name)]);
    for (const file of list) {
      try {
        const taken = await upload(file);
        setFiles((before) => [...before, taken]);
      } catch (error) {
        tell(`${file.name}: ${said(error)}`, "bad");
        setDue(false);
      }
      setComing((before) => before.filter((_, at) => at !== before.indexOf(file.name)));
    }
  };
  const send = async (words = text, with_ = files) => {
    if (coming.length) return setDue(true);
    if (!words.trim() && !with_.length) return;
    setText("");
    setFiles([]);
    try {
      await onSend({ text: words, files: with_, key: newKey() });
    } catch (error) {
      complain(error);
      setText((now) => now || words);
      setFiles(with_);
    }
  };
  useEffect(() => {
    if (!due || coming.length) return;
    setDue(false);
    send();
  }, [due, coming]);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && running) {
      onStop();
    }
  };
  const paste = (/** @type {ClipboardEvent} */ event) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (pasted.length) (event.preventDefault(), take(pasted));
  };
  const drop = (/** @type {DragEvent} */ event) => (
    event.preventDefault(),
    setOver(false),
    take([...(event.dataTransfer?.files ?? [])])
  );
  return html`
    <form
      class=${`composer ${over ? "over" : ""}`}
      onSubmit=${(event) => (event.preventDefault(), send())}
      onDragOver=${(event) => (event.preventDefault(), setOver(true))}
      onDragLeave=${() => setOver(false)}
      onDrop=${drop}
    >
      ${files.length + coming.length > 0 && html`
        <ul class="attached">
          ${files.map((file) => html`
            <li>
              <${Icon} name="attach" size=${14} />
              ${file.name} <small>${size(file.size ?? 0)}</small>
              <button
                type="button"
                aria-label=${t("Take {name} away", { name: file.name })}
                onClick=${() => setFiles(files.filter((each) => each !== file))}
              >
                <${Icon} name="close" size=${12} />
              </button>
            </li>
          `)}
          ${coming.map((name) => html`
            <li aria-busy="true">
              <i class="pulse"></i>
              ${name} <small role="status">${t("Loading")}</small>
            </li>
          `)}
        </ul>
      `}
      <textarea
        ref=${area}
        rows=${1}
        value=${text}
        placeholder=${t("Write a message")}
        aria-label=${t("Message")}
        maxlength=${1000000}
        onInput=${(event) => setText(event.currentTarget.value)}
        onKeyDown=${press}
        onPaste=${paste}
      ></textarea>
      <div class="row">
        <input
          ref=${picker}
          type="file"
          multiple
          hidden
          onChange=${(event) => (
            take([...(event.currentTarget.files ?? [])]),
            (event.currentTarget.value = "")
          )}
        />
        <${Button}
          kind="bare"
          icon="attach"
          label=${t("Attach files")}
          onClick=${() => picker.current?.click()}
        />
        ${may("model", "name") && may("models list") && html`<${Model} session=${session} />`}
        <span class="hint">${t("Enter sends, Shift+Enter makes a line")}</span>
        ${running && html`
          <${Button} kind="stop" icon="stop" label=${t("Stop (Escape)")} onClick=${onStop}>
            ${t("Stop")}
          <//>
        `}
        <button
          type="submit"
          class="button main"
          disabled=${!text.trim() && !files.length && !coming.length}
          aria-busy=${due}
          aria-label=${t("Send")}
        >
          <${Icon} name="send" />
        </button>
      </div>
    </form>
  `;
}
