import { html } from "../../lib.js";
export const Setup = () => html`<p></p>`;
