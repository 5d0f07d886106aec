/** The files that people and the assistant write for its prompt, edited in place. */

import { html } from "../../lib.js";

export const Files = () => html`<p></p>`;
