/** What people fill in and switch, in a dialog or on a view. */

import { t } from "../i18n.js";
import { html, useEffect, useRef, useState } from "../lib.js";
import { Button, usePress } from "./button.js";
import { above, Notices } from "./notices.js";

/** @typedef {import("./basics.js").Children} Children */

/**
 * A dialog over the page; Escape and a click beside it close it.
 * @param {{ title: string, onClose: () => void, children?: Children, wide?: boolean }} props
 */
export function Dialog({ title, onClose, children, wide = false }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [depth, setDepth] = useState(0);
  useEffect(() => {
    const dialog = element.current;
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog?.showModal();
    setDepth((above.value += 1));
    return () => ((above.value -= 1), dialog?.close(), before?.focus?.());
  }, []);
  return html`
    <dialog
      ref=${element}
      class=${wide ? "wide" : ""}
      aria-label=${title}
      onCancel=${(event) => (event.preventDefault(), onClose())}
      onMouseDown=${(event) => event.target === element.current && onClose()}
    >
      <header>
        <h2>${title}</h2>
        <${Button} kind="bare" icon="close" label=${t("Close")} onClick=${onClose} />
      </header>
      <div class="body">${children}</div>
      ${depth > 0 && html`<${Notices} depth=${depth} />`}
    </dialog>
  `;
}

/**
 * @typedef {import("../vendor/preact.js").TargetedEvent<
 *   HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>} FormEvent
 */

/** What a control of a form holds now. @param {FormEvent} event */
export const valueOf = ({ currentTarget: control }) =>
  control instanceof HTMLInputElement && control.type === "checkbox"
    ? control.checked
    : control.value;

/**
 * A field of a form with its name and what it is for.
 * @param {{ name: Children, about?: Children, children?: Children }} props
 */
export const Field = ({ name, about, children }) => html`
  <label class="field">
    <span class="name">${name}</span>
    ${children}
    ${about && html`<span class="about">${about}</span>`}
  </label>
`;

/**
 * On or off.
 * @param {{ on: boolean, label: string, onChange: (on: boolean) => unknown }} props
 */
export function Switch({ on, label, onChange }) {
  const [busy, press] = usePress(() => onChange(!on));
  return html`
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked=${on}
      aria-disabled=${busy ? "true" : undefined}
      aria-busy=${busy}
      aria-label=${label}
      onClick=${press}
    >
      <i></i>
    </button>
  `;
}
