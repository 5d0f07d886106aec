// Draws openapi.json: what can be asked, with which arguments, and what comes back.
export {};

const document_ = await (await fetch("openapi.json")).json();
const place = /** @type {HTMLElement} */ (document.getElementById("paths"));
place.textContent = "";

/** @param {string} name @param {string} [text] @param {(Node | string)[]} children */
function element(name, text = "", ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

/** A reference is a path within the document. @param {any} thing @returns {any} */
function meantBy(thing) {
  if (!thing?.$ref) return thing;
  return thing.$ref
    .slice(2)
    .split("/")
    .reduce((/** @type {any} */ within, /** @type {string} */ name) => within[name], document_);
}

/** @param {any} schema @returns {string | undefined} */
function nameOf(schema) {
  return schema?.$ref?.split("/").pop();
}

/** @param {any} schema @param {number} [depth] @returns {any} */
function resolved(schema, depth = 0) {
  const meant = meantBy(schema);
  if (!meant || depth > 3) return nameOf(schema) ?? {};
  if (meant.type === "array") return [resolved(meant.items ?? {}, depth + 1)];
  if (meant.anyOf) return meant.anyOf.map((/** @type {any} */ one) => kind(one)).join(" | ");
  if (!meant.properties) return kind(meant);
  const fields = Object.entries(meant.properties);
  return Object.fromEntries(fields.map(([key, value]) => [key, resolved(value, depth + 1)]));
}

/** @param {any} schema @returns {string | undefined} */
function kind(schema) {
  if (schema.$ref) return nameOf(schema);
  if (schema.enum)
    return schema.enum.map((/** @type {unknown} */ one) => JSON.stringify(one)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(kind).join(" | ");
  if (schema.contentSchema) return kind(schema.contentSchema);
  if ("const" in schema) return JSON.stringify(schema.const);
  return schema.contentMediaType ?? schema.type ?? "anything";
}

/** @param {any} operation */
function argumentsOf(operation) {
  const [type, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const meant = meantBy(body?.schema);
  const required = new Set(meant?.required ?? []);
  const inBody = Object.entries(meant?.properties ?? {}).map(([name, schema]) => ({
    name,
    schema,
    in: "body",
    description: schema.description,
    required: required.has(name),
  }));
  const whole =
    type && !meant?.properties ? [{ name: type, schema: meant, in: "body", required: true }] : [];
  return [...(operation.parameters ?? []), ...inBody, ...whole];
}

/** @param {any[]} rows */
function table(rows) {
  const made = element("table");
  for (const row of rows) {
    const line = element("tr", "", element("th", row.name), element("td", row.in));
    line.append(element("td", kind(row.schema)));
    line.append(
      element("td", row.required ? "required" : JSON.stringify(row.schema.default ?? "")),
    );
    line.append(element("td", row.description ?? row.schema.description ?? ""));
    made.append(line);
  }
  return made;
}

/** @param {any} operation */
function neededBy(operation) {
  const ways = (operation.security ?? document_.security).map((/** @type {object} */ way) =>
    Object.keys(way).join(" and "),
  );
  const role = operation["x-least-role"];
  const who = ways.length ? `Shown: ${ways.join(", or ")}.` : "Nothing has to be shown.";
  return element("p", role ? `${who} For: ${role}.` : who);
}

/** @param {any} operation */
function answersOf(operation) {
  const parts = [];
  for (const [status, response] of Object.entries(operation.responses)) {
    const meant = meantBy(response);
    const types = Object.keys(meant.content ?? {}).join(", ");
    parts.push(
      element("p", "", element("b", status), ` ${meant.description} `, element("code", types)),
    );
    if (status >= "400") continue;
    for (const { schema } of Object.values(meant.content ?? {})) {
      parts.push(element("pre", JSON.stringify(resolved(schema), null, 2)));
    }
  }
  return parts;
}

/** @param {any} operation */
function wordsOf(operation) {
  return Object.entries(operation["x-websocket"] ?? {}).map(([name, schema]) =>
    element("p", "", element("b", `${name.replaceAll("_", " ")}: `), element("code", kind(schema))),
  );
}

for (const [path, methods] of Object.entries(document_.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const head = element("summary", "", element("b", method.toUpperCase()), element("code", path));
    head.append(` ${operation.summary}`);
    const details = element("details", "", head, neededBy(operation));
    const rows = argumentsOf(operation);
    if (rows.length) details.append(table(rows));
    details.append(...wordsOf(operation), ...answersOf(operation));
    place.append(details);
  }
}

const schemas = element("details", "", element("summary", "Schemas"));
for (const [name, schema] of Object.entries(document_.components.schemas)) {
  const parts = [element("h3", name), element("p", schema.description ?? "")];
  schemas.append(...parts, element("pre", JSON.stringify(resolved(schema), null, 2)));
}
place.append(schemas);
