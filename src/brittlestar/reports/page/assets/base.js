const byId = (id) => document.getElementById(id);
const readJson = (id) => JSON.parse(byId(id).textContent);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") Object.entries(value).forEach(([event, listener]) => node.addEventListener(event, listener));
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svgEl = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Writes a number as the tables do: four digits, half to even, as Python's `.4g`.
function num(value, digits = 4) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const [exact, power] = Math.abs(value).toExponential(60).split("e");
  const all = exact.replace(".", "");
  let head = BigInt(all.slice(0, digits));
  const rest = all.slice(digits);
  const half = "5" + "0".repeat(rest.length - 1);
  if (rest > half || (rest === half && head % 2n === 1n)) head += 1n;
  let exponent = Number(power);
  let figures = String(head);
  if (figures.length > digits) { figures = figures.slice(0, digits); exponent += 1; }
  const sign = value < 0 ? "-" : "";
  const trim = (text) => (text.includes(".") ? text.replace(/\.?0*$/, "") : text);
  if (exponent < -4 || exponent >= digits) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${trim(`${figures[0]}.${figures.slice(1)}`)}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return sign + trim(`0.${"0".repeat(-exponent - 1)}${figures}`);
  return sign + trim(`${figures.slice(0, exponent + 1)}.${figures.slice(exponent + 1)}`);
}
const interval = (low, high) => (low === null || high === null ? "" : `[${num(low)}, ${num(high)}]`);
const bounded = (value, low, high) => `${value === null ? "none" : num(value)} ${interval(low, high)}`.trim();
const signed = (value) => (value > 0 ? "+" : "") + num(value);

// Cuts a long name in the middle: what differs is usually at its start or at its end.
const MOST_LETTERS = 60;
function brief(name, most = MOST_LETTERS) {
  const text = String(name);
  const tail = Math.floor((most - 1) / 2);
  return text.length <= most ? text : `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}
const wholeName = (name, most = MOST_LETTERS) => (String(name).length > most ? String(name) : null);

function download(name, type, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const csvField = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csvText = (rows) => rows.map((row) => row.map(csvField).join(",") + "\r\n").join("");
const saveCsv = (name, rows) => download(`${name}.csv`, "text/csv", csvText(rows));

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", {}, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}
function commandLine(text) {
  const button = el("button", { type: "button" }, "Copy");
  button.addEventListener("click", () => copy(text, button));
  return el("p", { class: "command" }, el("code", {}, text), button);
}

function selectBox(title, options, value, onChange) {
  const box = el("select", {}, options.map(([key, text]) => el("option", { value: key, title: wholeName(text) }, brief(text))));
  box.value = String(value);
  box.addEventListener("change", () => onChange(box.value));
  return { node: el("label", {}, title, box), box };
}
function choice(title, options, value, onChange) {
  const buttons = options.map(([key, text]) =>
    el("button", { type: "button", "aria-pressed": String(key === value), "data-value": key }, text));
  buttons.forEach((button) => button.addEventListener("click", () => {
    buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    onChange(button.dataset.value);
  }));
  const group = el("span", { class: "choice", role: "group", "aria-label": title }, buttons);
  return { node: el("label", {}, title, group), buttons };
}

const tip = {
  node: byId("tip"),
  show(box, title, pairs) {
    const list = el("dl", {}, pairs.filter(([, value]) => value !== "").map(([key, value]) =>
      [el("dt", {}, key), el("dd", {}, value)]));
    this.node.replaceChildren(el("b", {}, title), list);
    this.node.hidden = false;
    const size = this.node.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + box.width / 2 - size.width / 2), document.documentElement.clientWidth - size.width - 8);
    const above = box.top - size.height - 12;
    this.node.style.left = `${left + scrollX}px`;
    this.node.style.top = `${(above < 4 ? box.bottom + 12 : above) + scrollY}px`;
  },
  hide() { this.node.hidden = true; },
};

function dataTable(head, rows, name) {
  const table = el("table", {},
    el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((value) => el("td", { class: num(value).length > 60 ? "wide" : null }, num(value)))))));
  return withSaving(table, name);
}
// Puts a table into a box that scrolls, with a button that saves what it shows.
function withSaving(table, name) {
  const rows = () => [...table.rows].map((row) => [...row.cells].map((cell) => cell.dataset.whole ?? cell.textContent));
  const button = el("button", { type: "button", on: { click: () => saveCsv(name, rows()) } }, "Save CSV");
  return el("div", {}, el("div", { class: "scroll", tabindex: "0" }, table), el("div", { class: "save" }, button));
}
const fileName = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "").slice(0, 60) || "table";
