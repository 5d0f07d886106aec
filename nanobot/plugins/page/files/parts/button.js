/** A button that is at work until it is done, tells what went wrong, and loses no focus. */

import { ApiError, Told } from "../api.js";
import { t } from "../i18n.js";
import { html, useRef, useState } from "../lib.js";
import { Icon } from "./icons.js";
import { tell } from "./notices.js";

/** @typedef {import("../vendor/preact.js").ComponentChildren} Children */

/** What an error says to a person. @param {unknown} error */
export const said = (error) =>
  error instanceof Told
    ? error.message
    : t("Something went wrong in this page: {error}", { error });

/**
 * Tell what went wrong with something that was pressed. That the gateway does not answer stands
 * above the page already.
 * @param {unknown} error
 */
export function complain(error) {
  if (!(error instanceof ApiError && error.code === "away")) tell(said(error), "bad");
}

const PRESSABLE = "a[href], button:not(:disabled), input:not(:disabled), select, textarea";
const ROW = "tr, li, article";
/** By then, what a press changed is drawn. */
const DRAWN_MS = 60;

/**
 * Where the focus goes if what was pressed is there no more: to what is left of its row, to the
 * next row, or to what is around it. It would be at the top of the page.
 * @param {HTMLElement} pressed @returns {() => void}
 */
function keeping(pressed) {
  if (document.activeElement !== pressed) return () => undefined;
  const row = pressed.closest(ROW);
  const places = [row, row?.nextElementSibling, row?.previousElementSibling];
  for (let each = pressed.parentElement; each; each = each.parentElement) places.push(each);
  return () => {
    const { activeElement: now, body } = document;
    if (pressed.isConnected || (now && now !== body)) return;
    for (const each of places) {
      const next = each?.matches("main")
        ? each
        : each?.isConnected && each.querySelector(PRESSABLE);
      if (next instanceof HTMLElement) return next.focus({ preventScroll: true });
    }
  };
}

/**
 * What runs when something is pressed: once at a time. A form must be filled in as its fields say.
 * @param {((event: any) => unknown) | undefined} act
 * @returns {[boolean, (event: any) => Promise<void>]} whether it is at work, and the handler
 */
export function usePress(act) {
  const [busy, setBusy] = useState(false);
  const working = useRef(false);
  const press = async (/** @type {Event & { currentTarget: HTMLElement }} */ event) => {
    const pressed = event.currentTarget;
    if (!act) return;
    if (working.current) return event.preventDefault();
    if (pressed instanceof HTMLButtonElement && pressed.type === "submit" && pressed.form) {
      event.preventDefault();
      if (!pressed.form.noValidate && !pressed.form.reportValidity()) return;
    }
    const keep = keeping(pressed);
    working.current = true;
    setBusy(true);
    try {
      await act(event);
    } catch (error) {
      complain(error);
    } finally {
      working.current = false;
      setBusy(false);
      setTimeout(keep, DRAWN_MS);
    }
  };
  return [busy, press];
}

/**
 * A button that shows that it is at work. It is not disabled then: that would take the focus away.
 * In a form, Enter presses the one of type "submit".
 * @param {{
 *   onClick?: (event: MouseEvent) => unknown, kind?: string, icon?: string, label?: string,
 *   children?: Children, title?: string, disabled?: boolean, type?: "button" | "submit",
 * }} props
 */
export function Button({
  onClick,
  kind = "plain",
  icon,
  label,
  children,
  title,
  disabled,
  type = "button",
}) {
  const [busy, press] = usePress(onClick);
  return html`
    <button
      type=${type}
      class=${`button ${kind}`}
      onClick=${press}
      disabled=${disabled}
      aria-disabled=${busy ? "true" : undefined}
      aria-busy=${busy}
      aria-label=${label}
      title=${title ?? label}
    >
      ${icon && html`<${Icon} name=${icon} />`}
      ${children}
    </button>
  `;
}
