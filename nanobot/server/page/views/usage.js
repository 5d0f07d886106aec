import { html } from "../lib.js"; export default () => html`<div class="view">x</div>`;
