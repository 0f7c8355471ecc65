// The ledger page of the demo origin: one self-contained page that shows what was really done.
//
// It owns the HTML and escapes whatever came from a request. It loads nothing from anywhere and
// runs no script; the page asks the browser to load it again every two seconds.

const COLUMNS = [
  ["n", "#"],
  ["at", "applied at"],
  ["operation", "operation"],
  ["subject", "subject"],
  ["amount", "amount"],
  ["idempotency_key", "Idempotency-Key"],
  ["attempt", "attempt"],
  ["reference", "Oncegate-Reference"],
];

const STYLE = `
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
    color: #1c2733; background: #fff; }
  h1 { font-size: 1.4rem; margin: 0; }
  table { border-collapse: collapse; width: 100%; margin-top: 1.2rem; }
  th, td { text-align: left; padding: .35rem .7rem; border-bottom: 1px solid #dde3ea; }
  th { font-weight: 600; color: #51606f; }
  td { font-family: ui-monospace, monospace; font-size: 13px; overflow-wrap: anywhere; }
  @media (prefers-color-scheme: dark) {
    body { color: #dfe6ee; background: #14191f; }
    th { color: #9aa8b7; }
    th, td { border-color: #2b343e; }
  }`;

/** The page for a list of ledger entries. */
export function ledgerPage(entries) {
  const head = COLUMNS.map(([, title]) => `<th scope="col">${escape(title)}</th>`).join("");
  const rows = entries.map((entry) => {
    const cells = COLUMNS.map(([member]) => `<td>${escape(entry[member] ?? "")}</td>`).join("");
    return `<tr>${cells}</tr>`;
  });
  const count = entries.length === 1 ? "1 effect" : `${entries.length} effects`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="2">
<title>Ledger: ${count}</title>
<style>${STYLE}
</style>
</head>
<body>
<h1>Ledger of the demo origin: ${count} applied</h1>
<p>One line for everything this origin really did. It does not remove duplicates by itself.</p>
<table>
<thead><tr>${head}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</body>
</html>
`;
}

function escape(value) {
  const marks = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return String(value).replace(/[&<>"']/g, (mark) => marks[mark]);
}
