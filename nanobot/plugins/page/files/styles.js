/** Stylesheets that are loaded with what needs them. */

/** By their address. @type {Map<string, Promise<void>>} */
const sheets = new Map();

/** Whether it came or not: a view without its styles can be used. @param {string} file */
export function styled(file) {
  const sheet =
    sheets.get(file) ??
    new Promise((done) => {
      const link = document.createElement("link");
      Object.assign(link, { rel: "stylesheet", href: file, onload: done, onerror: done });
      document.head.append(link);
    });
  sheets.set(file, sheet);
  return sheet;
}
