// Logs in with the secret behind the #, which works once, and says who is logged in.
const state = document.getElementById("state");

async function ask(path, options = {}) {
  const answer = await fetch(path, { credentials: "same-origin", ...options });
  return { status: answer.status, body: await answer.json() };
}

const secret = new URLSearchParams(location.hash.slice(1)).get("login");
if (secret) {
  history.replaceState(null, "", location.pathname);
  const { status, body } = await ask("api/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ secret }),
  });
  if (status !== 200) state.textContent = body.error.message;
}
const me = await ask("api/me");
if (me.status === 200) {
  state.textContent = `You are logged in as ${me.body.role}.`;
} else if (!secret) {
  state.textContent = "You are not logged in.";
}
