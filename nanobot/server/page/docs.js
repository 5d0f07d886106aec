// Draws openapi.json: what can be asked, with which arguments, and what comes back.
const document_ = await (await fetch("openapi.json")).json();
const place = document.getElementById("paths");
place.textContent = "";

function element(name, text = "", ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function resolved(schema, depth = 0) {
  const name = schema?.$ref?.split("/").pop();
  const meant = name ? document_.components.schemas[name] : schema;
  if (!meant || depth > 3) return name ?? {};
  if (meant.type === "array") return [resolved(meant.items ?? {}, depth + 1)];
  if (meant.anyOf) return meant.anyOf.map((one) => kind(one)).join(" | ");
  if (!meant.properties) return kind(meant);
  const fields = Object.entries(meant.properties);
  return Object.fromEntries(fields.map(([key, value]) => [key, resolved(value, depth + 1)]));
}

function kind(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  return schema.type ?? "anything";
}

function argumentsOf(operation) {
  const body = operation.requestBody?.content["application/json"].schema;
  const meant = body?.$ref ? document_.components.schemas[body.$ref.split("/").pop()] : body;
  const required = new Set(meant?.required ?? []);
  const inBody = Object.entries(meant?.properties ?? {}).map(([name, schema]) => ({
    name, schema, description: schema.description, required: required.has(name),
  }));
  return [...(operation.parameters ?? []), ...inBody];
}

function table(rows) {
  const made = element("table");
  for (const row of rows) {
    const line = element("tr", "", element("th", row.name), element("td", kind(row.schema)));
    line.append(element("td", row.required ? "required" : JSON.stringify(row.schema.default ?? "")));
    line.append(element("td", row.description ?? row.schema.description ?? ""));
    made.append(line);
  }
  return made;
}

for (const [path, methods] of Object.entries(document_.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const head = element("summary", "", element("b", method.toUpperCase()), element("code", path));
    head.append(` ${operation.summary}`);
    const details = element("details", "", head);
    const rows = argumentsOf(operation);
    if (rows.length) details.append(table(rows));
    const result = operation.responses["200"].content?.["application/json"]?.schema;
    if (result) details.append(element("pre", JSON.stringify(resolved(result), null, 2)));
    place.append(details);
  }
}
