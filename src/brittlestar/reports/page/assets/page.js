// Charts of studies. `lines`: { panels: [{ title, lines: [{ name, x, mean, low?, high? }], shade?, rule? }], x, y, share? };
// `map`: { panels: [{ title, x, y, values, notes? }], x, y, share? }; `radar`: { panels: [{ title, axes, rows }] };
// `points`: { panels: [{ title, points: [{ name, x, y, low?, high?, facts? }] }], x, y };
// `bars`: { panels: [{ title, names, bars: [{ name, values, low?, high? }] }], x }.
function studyChart(host) {
  const { kind, title, data } = JSON.parse(host.querySelector("script").textContent);
  const state = { panel: 0, hidden: new Set() };
  const panel = () => data.panels[state.panel];
  const isShown = (i) => !state.hidden.has(i);
  const items = () => ({ lines: panel().lines, radar: panel().rows, points: panel().points, bars: panel().bars }[kind] ?? []);
  const label = () => [title, panel().title].filter(Boolean).join(": ");
  const drawers = {
    radar: (width) => drawRadar(width, panel(), label(), isShown),
    bars: (width) => drawBars(width, panel(), data.x, label(), isShown),
    map: (width) => drawMap(width, {
      ...panel(), xLabel: data.x, yLabel: data.y, share: data.share,
      tip: (row, column) => ({ title: panel().title || title, pairs: [[data.x, panel().x[column]], [data.y || "row", panel().y[row]], ["value", num(panel().values[row][column])], ["", (panel().notes ?? [])[row]?.[column] ?? ""]] }),
    }, label()),
    lines: (width) => {
      const lines = panel().lines.map((line, i) => ({
        low: null, high: null, ...line, key: i, colour: colourOf(i), marker: line.x.length <= 40 ? markerOf(i) : null,
        tips: (k) => ({ title: line.name, pairs: [[panel().x ?? data.x, num(line.x[k])], [data.y, num(line.mean[k])], ["interval", line.low ? interval(line.low[k], line.high[k]) : ""], ["", (line.notes ?? [])[k] ?? ""]] }),
      })).filter((line) => isShown(line.key));
      const area = frame(width, Math.round(Math.min(380, Math.max(270, width * 0.4))), label());
      const xs = lines.flatMap((line) => line.x);
      const x = linear(Math.min(...xs), Math.max(...xs), area.left + 8, area.right - 8, width > 560 ? 8 : 4);
      const rule = panel().rule;
      const y = linear(...limits(rule ? [...lines, { mean: [rule.value] }] : lines, data.share), area.bottom, area.top);
      (panel().shade ?? []).forEach(({ from, to, name, dark }) => {
        if (dark) area.root.append(svgEl("rect", { x: x.at(from), y: area.top, width: x.at(to) - x.at(from), height: area.bottom - area.top, fill: "var(--shade)" }));
        area.root.append(svgEl("text", { x: (x.at(from) + x.at(to)) / 2, y: area.top - 3, "text-anchor": "middle" }, name));
      });
      drawAxes(area, x, y, panel().x ?? data.x, data.y);
      if (rule) area.root.append(svgEl("line", { class: "zero", x1: area.left, x2: area.right, y1: y.at(rule.value), y2: y.at(rule.value) }), svgEl("text", { x: area.right, y: y.at(rule.value) - 5, "text-anchor": "end" }, rule.name));
      return { area, targets: drawLines(area, lines, x, y, {}) };
    },
    points: (width) => {
      const area = frame(width, Math.round(Math.min(420, Math.max(280, width * 0.45))), label());
      const shown = panel().points.map((point, i) => ({ ...point, i })).filter((point) => isShown(point.i) && point.x !== null && point.y !== null);
      const span = (key) => limits([{ mean: shown.map((point) => point[key]), low: key === "y" ? shown.map((p) => p.low ?? null) : [], high: key === "y" ? shown.map((p) => p.high ?? null) : [] }], false, true);
      const x = linear(...span("x"), area.left + 8, area.right - 8, width > 560 ? 8 : 4);
      const y = linear(...span("y"), area.bottom, area.top);
      drawAxes(area, x, y, data.x, data.y);
      const targets = shown.map((point) => {
        const group = svgEl("g", { class: "series", "data-series": point.i });
        const colour = colourOf(point.i);
        if (point.low !== null && point.low !== undefined) group.append(svgEl("path", { d: `M${x.at(point.x)},${y.at(point.low)}V${y.at(point.high)}`, stroke: colour, "stroke-width": 1.4 }));
        group.append(marker(markerOf(point.i), x.at(point.x), y.at(point.y), 5, colour));
        area.root.append(group);
        return { x: x.at(point.x), y: y.at(point.y), series: point.i, title: point.name, pairs: [[data.x, num(point.x)], [data.y, bounded(point.y, point.low ?? null, point.high ?? null)], ...(point.facts ?? [])] };
      });
      return { area, targets };
    },
  };
  const tables = {
    lines: () => [["line", panel().x ?? data.x, data.y, "low", "high"], ...panel().lines.flatMap((line) => line.x.map((x, i) => [line.name, x, line.mean[i], line.low?.[i], line.high?.[i]]))],
    map: () => [[data.y, ...panel().x], ...panel().values.map((row, i) => [panel().y[i], ...row])],
    radar: () => [["line", ...panel().axes], ...panel().rows.map((row) => [row.name, ...row.values])],
    bars: () => [["name", ...panel().bars.flatMap((bar) => [bar.name, "low", "high"])], ...panel().names.map((name, i) => [name, ...panel().bars.flatMap((bar) => [bar.values[i], bar.low?.[i], bar.high?.[i]])])],
    points: () => [["name", data.x, data.y, "low", "high"], ...panel().points.map((p) => [p.name, p.x, p.y, p.low, p.high])],
  };
  let chart;
  const keys = el("div", {});
  const rebuild = () => {
    const toggle = (i) => { state.hidden.has(i) ? state.hidden.delete(i) : state.hidden.add(i); chart.redraw(); };
    keys.replaceChildren(items().length > 1 ? legend(items().map((item, i) => [i, item.name]), isShown, toggle) : "");
  };
  host.append(el("h3", {}, title));
  if (data.panels.length > 1) {
    host.append(el("div", { class: "controls" }, selectBox(data.chooser ?? "Panel", data.panels.map((p, i) => [i, p.title]), 0,
      (value) => { state.panel = Number(value); state.hidden.clear(); rebuild(); chart.redraw(); }).node));
  }
  rebuild();
  host.append(keys);
  chart = plot(host, () => fileName(label()), drawers[kind], tables[kind]);
}

function dressTables() {
  document.querySelectorAll("main table").forEach((table) => {
    if (table.closest(".scroll")) return;
    const mark = document.createComment("");
    table.replaceWith(mark);
    const section = table.closest("section") ?? mark.parentElement;
    const title = mark.parentElement.closest("details")?.querySelector("summary")?.textContent ?? mark.parentElement.closest("section")?.dataset.title ?? section.id;
    table.querySelectorAll("td").forEach((cell) => cell.classList.toggle("wide", cell.textContent.length > 60));
    mark.replaceWith(withSaving(table, fileName(title)));
  });
}

function contents() {
  const sections = [...document.querySelectorAll("main > section")];
  byId("contents").append(...sections.map((section) => el("a", { href: `#${section.id}` }, section.dataset.title)));
}

const parts = {
  curves: [curvesPart, () => DATA.curves.curves.length > 0],
  pairs: [pairsPart, () => DATA.curves.curves.length > 1],
  map: [mapPart, () => DATA.curves.curves.some((curve) => curve.levels.length > 1)],
  episodes: [episodesPart, () => DATA.episodes.curves.length > 0],
  rewards: [rewardsPart, () => DATA.rewards.curves.length > 0],
  "film-list": [filmsPart, () => FILMS.length > 0],
};
for (const [id, [build, isThere]] of Object.entries(parts)) {
  const host = byId(id);
  if (host && isThere()) build(host);
  else if (host) host.remove();
}
document.querySelectorAll(".study-chart").forEach(studyChart);
dressTables();
contents();
document.querySelectorAll(".swatch").forEach((node) => {
  const i = Number(node.dataset.curve);
  node.append(svgEl("svg", { class: "chart", viewBox: "0 0 16 16", "aria-hidden": "true" }, marker(markerOf(i), 8, 8, 5, colourOf(i))));
});
document.querySelectorAll("#making .command code").forEach((code) => code.parentElement.replaceWith(commandLine(code.textContent)));
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((node) => { node.open = true; }));
requestAnimationFrame(() => requestAnimationFrame(() => { window.pageReady = true; }));
