/** The door: who has the token, or a link with a one-time code, is let in by a cookie. */

import { enter, refused } from "../api.js";
import { t } from "../i18n.js";
import { asset, html, useEffect } from "../lib.js";
import { said } from "./basics.js";

export function Login() {
  const submit = async (/** @type {SubmitEvent & { currentTarget: HTMLFormElement }} */ event) => {
    event.preventDefault();
    try {
      await enter(String(new FormData(event.currentTarget).get("token")));
      location.reload();
    } catch (problem) {
      refused.value = said(problem);
    }
  };
  useEffect(() => {
    document.title = "nanobot";
  }, []);
  return html`
    <main class="login">
      <form onSubmit=${submit}>
        <img src=${asset("./icon.svg")} alt="" width="48" height="48" />
        <h1>nanobot</h1>
        <p>
          ${t(
            "Open the link that the gateway printed, or run nanobot dashboard. You can also enter the token here.",
          )}
        </p>
        <label class="field">
          <span class="name">${t("Token")}</span>
          <input name="token" type="password" autocomplete="current-password" required autofocus />
        </label>
        ${refused.value && html`
          <p class="bad" role="alert">
            ${refused.value}
          </p>
        `}
        <button class="button main" type="submit">
          ${t("Open")}
        </button>
      </form>
    </main>
  `;
}
