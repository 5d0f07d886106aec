// Pages are opened from files, too, where the clipboard's own interface is missing.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy-markdown]");
  if (!button) return;
  const text = JSON.parse(document.getElementById("page-markdown").textContent);
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    copied = document.execCommand("copy");
    area.remove();
  }
  const label = button.textContent;
  button.textContent = copied ? "Copied" : "Copying failed";
  setTimeout(() => (button.textContent = label), 2000);
});
