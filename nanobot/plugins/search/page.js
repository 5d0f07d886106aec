/** Messages among the places that the page can go to: what was said, the newest first. */
export default ({ read }) => {
  const MOST = 8;
  const SHORTEST = 2;

  return async (text, signal) => {
    if (text.trim().length < SHORTEST) return [];
    const hits = await read("search", { find: text, limit: MOST }, { signal });
    return hits.map(({ session_key: what, title, before, match, after, seq }) => ({
      view: "chat",
      what,
      icon: "search",
      // The words first: a narrow screen shows the beginning.
      text: `${before.length > 24 ? `…${before.slice(-20)}` : before}${match}${after}`,
      more: title || what,
      seq,
    }));
  };
};
