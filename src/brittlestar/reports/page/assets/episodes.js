const FILMS = readJson("films");
function filmView(film) {
  const source = film.path.split("/").map(encodeURIComponent).join("/");
  if (film.path.endsWith(".gif")) return el("img", { src: source, alt: "Film of the episode" });
  return el("video", { src: source, controls: true, loop: true, playsinline: true, preload: "auto", "aria-label": "Film of the episode" });
}
// For a study without the part on episodes.
function filmsPart(host) {
  FILMS.forEach((film) => host.append(el("figure", {}, filmView(film),
    el("figcaption", {}, `cell ${film.cell}, episode ${film.episode}${film.beside ? ", beside clean" : ""}`))));
}
const MARKS = [[1, "worst", "down"], [2, "median", "diamond"], [4, "flipped", "square"]];

function episodesPart(host) {
  const { columns, curves: samples, folders } = DATA.episodes;
  const { curves } = DATA.curves;
  const state = { curve: 0, metric: columns.includes("return") ? "return" : columns[0], picked: null };
  const sample = () => samples[state.curve];
  const valueOf = (data, column, i) => { const v = data.values[column]; return Array.isArray(v) ? v[i] : v; };
  const known = () => columns.filter((column) => sample().values[column] !== null);
  const filmsOf = (data, i) => FILMS.filter((film) => film.cell === data.cell[i] && film.episode === data.episode[i] && film.folder === data.folder[i]);
  const marksOf = (mark) => MARKS.filter(([bit]) => mark & bit).map(([, name]) => name);
  const isFlipped = (data, i) => (data.mark[i] & 4) > 0;
  // A place between -1 and 1 that depends on the episode alone.
  const jitter = (i) => (((i * 0.6180339887) % 1) - 0.5) * 2;

  function draw(width) {
    const data = sample();
    const levels = curves[state.curve].levels;
    const height = Math.round(Math.min(430, Math.max(300, width * 0.42)));
    const title = state.metric.replaceAll("_", " ");
    const area = frame(width, height, `${title} of every episode, by level`);
    const all = data.level.map((_, i) => valueOf(data, state.metric, i));
    const numbers = all.filter((v) => v !== null);
    const few = new Set(numbers).size <= 2;
    const [low, high] = numbers.length ? [Math.min(...numbers), Math.max(...numbers)] : [0, 1];
    const pad = (high - low || 1) * (few ? 0.25 : 0.05);
    const y = linear(low - pad, high + pad, area.bottom, area.top);
    if (few) y.ticks = [...new Set(numbers)];
    const wide = (area.right - area.left) / levels.length;
    const x = { at: (k) => area.left + (k + 0.5) * wide, ticks: [] };
    drawAxes(area, x, y, curves[state.curve].strength, title);
    const every = Math.ceil((Math.max(...levels.map((level) => num(level).length)) * 7 + 6) / wide);
    levels.forEach((level, k) => {
      if (k % every === 0) area.root.append(svgEl("text", { x: x.at(k), y: area.bottom + 19, "text-anchor": "middle" }, num(level)));
      if (k) area.root.append(svgEl("line", { class: "grid", x1: area.left + k * wide, x2: area.left + k * wide, y1: area.top, y2: area.bottom }));
    });
    const targets = [];
    const order = data.level.map((_, i) => i).sort((a, b) => data.mark[a] - data.mark[b]);
    const rate = data.values[data.measure] !== undefined && data.measure.startsWith("success");
    for (const i of order) {
      if (all[i] === null) continue;
      const px = x.at(data.level[i]) + jitter(i) * wide * 0.36;
      const py = y.at(all[i]) + (few ? jitter(i * 7 + 3) * (area.bottom - area.top) * 0.07 : 0);
      const success = rate ? valueOf(data, data.measure, i) > 0 : true;
      const kind = (MARKS.find(([bit]) => data.mark[i] & bit) ?? [0, "", "circle"])[2];
      const colour = data.mark[i] & 3 ? "var(--ink)" : success ? "var(--c0)" : "var(--c1)";
      const dot = marker(kind, px, py, data.mark[i] & 3 ? 5 : data.mark[i] ? 3.2 : 2.6, colour, !success);
      dot.setAttribute("opacity", data.mark[i] & 3 ? 1 : 0.72);
      area.root.append(dot);
      const films = filmsOf(data, i);
      if (films.length) area.root.append(svgEl("circle", { cx: px, cy: py, r: 8, fill: "none", stroke: "var(--c2)", "stroke-width": 2 }));
      targets.push({
        x: px, y: py, title: `cell ${data.cell[i]}, episode ${data.episode[i]}`, pick: () => open(i),
        pairs: [[curves[state.curve].strength, num(levels[data.level[i]])], ["seed", String(data.seed[i])], [title, num(all[i])],
          [rate ? data.measure.replaceAll("_", " ") : "", rate ? num(valueOf(data, data.measure, i)) : ""],
          ["", [...marksOf(data.mark[i]), ...(films.length ? ["film"] : [])].join(", ")]],
      });
    }
    return { area, targets };
  }

  const panel = el("div", { class: "row", id: "row", hidden: true, "aria-live": "polite" });
  const flippedText = "flipped: succeeds without the perturbation from the same start, and fails here";
  function open(i) {
    const data = sample();
    const key = `${state.curve}:${i}`;
    if (state.picked === key && !panel.hidden) return;
    state.picked = key;
    const where = folders[data.folder[i]];
    const films = filmsOf(data, i);
    const quoted = /^[\w./@%+=:-]+$/.test(where) ? where : `'${where.replaceAll("'", "'\\''")}'`;
    const command = `brittlestar replay ${quoted} --cell ${data.cell[i]} --episode ${data.episode[i]}`;
    const facts = [["seed", data.seed[i]], ["reset seed", data.reset_seed[i]], [curves[state.curve].strength, curves[state.curve].levels[data.level[i]]]];
    const metrics = known().map((column) => [column.replaceAll("_", " "), valueOf(data, column, i)]);
    const marks = marksOf(data.mark[i]).map((name) => (name === "flipped" ? flippedText : `${name} of its level`));
    panel.replaceChildren(
      el("h3", { title: wholeName(curves[state.curve].name) }, `${brief(curves[state.curve].name)}: cell ${data.cell[i]}, episode ${data.episode[i]}`),
      marks.length ? el("p", { class: "quiet" }, `${marks.join("; ")}.`) : "",
      el("div", { class: "parts" },
        el("div", {}, films.map(filmView), films.length ? "" : el("p", { class: "quiet" }, "No film yet. This command runs the episode again, checks its row bit for bit and films it; then reload this page:"),
          where ? commandLine(command) : ""),
        el("dl", {}, [...facts.map(([k, v]) => [k, String(v)]), ...metrics.filter(([, v]) => v !== null).map(([k, v]) => [k, num(v, 6)])]
          .map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]))));
    panel.hidden = false;
  }
  const remark = el("p", { class: "quiet" });
  function remarks() {
    const total = samples.flatMap((s) => s.totals).reduce((a, b) => a + b, 0);
    const shown = samples.reduce((sum, s) => sum + s.level.length, 0);
    const flips = sample().mark.filter((mark) => mark & 4).length;
    remark.textContent = [
      shown < total ? `A sample of ${shown.toLocaleString("en")} of ${total.toLocaleString("en")} episodes: the worst, the median and up to three flipped ones of each level, and others at equal distances. The table episodes holds all.` : `All ${total.toLocaleString("en")} episodes.`,
      "Filled: success; hollow: failure.", "▼ worst, ◆ median of its level;", `■ flipped (${flips} here): succeeds clean from the same start, fails here.`,
      FILMS.length ? "A green ring has a film." : "", "Click a dot, or use the arrow keys, for its row.",
    ].filter(Boolean).join(" ");
  }
  const figure = el("figure", {});
  const metricBox = () => selectBox("Metric", known().map((c) => [c, c.replaceAll("_", " ")]), state.metric, (value) => { state.metric = value; chart.redraw(); });
  const controls = el("div", { class: "controls" });
  let chart;
  function rebuild() {
    if (!known().includes(state.metric)) state.metric = known()[0];
    controls.replaceChildren(
      selectBox("Curve", samples.map((_, i) => [i, curves[i].name]), state.curve, (value) => { state.picked = null; panel.hidden = true; show(Number(value)); }).node,
      metricBox().node, ...jumps());
  }
  // Buttons that open the next episode of a kind; after the last one of a curve, that of the next curve.
  function jumps() {
    const go = (wanted, text) => el("button", { type: "button", on: { click: () => {
      const found = samples.flatMap((data, c) => data.level.map((_, i) => [c, i]).filter(([, i]) => wanted(data, i)));
      if (!found.length) return;
      const [curve, place] = (state.picked ?? `${state.curve}:-1`).split(":").map(Number);
      const next = found.find(([c, i]) => c > curve || (c === curve && i > place)) ?? found[0];
      if (next[0] !== state.curve) show(next[0]);
      open(next[1]);
    } } }, text);
    const kinds = [[(data, i) => data.mark[i] & 1, "Next worst"], [isFlipped, "Next flipped"], [(data, i) => filmsOf(data, i).length, "Next film"]];
    return kinds.filter(([wanted]) => samples.some((data) => data.level.some((_, i) => wanted(data, i)))).map(([wanted, text]) => go(wanted, text));
  }
  function show(curve) {
    state.curve = curve;
    rebuild();
    chart.redraw();
    remarks();
  }
  const table = () => {
    const data = sample();
    const names = known();
    return [["strength", "seed", "cell", "episode", "reset_seed", "mark", ...names], ...data.level.map((level, i) => [
      curves[state.curve].levels[level], data.seed[i], data.cell[i], data.episode[i], data.reset_seed[i], marksOf(data.mark[i]).join(" "),
      ...names.map((name) => valueOf(data, name, i)),
    ])];
  };
  rebuild();
  host.append(controls, figure, remark, panel);
  chart = plot(figure, () => `episodes_${state.metric}`, draw, table);
  remarks();
}

function rewardsPart(host) {
  const { curves: found, left_out: leftOut } = DATA.rewards;
  const { curves } = DATA.curves;
  const state = { place: 0, hidden: new Set() };
  const chosen = () => found[state.place];
  const shade = (k) => `var(--s${chosen().levels.length > 1 ? Math.round((k * 8) / (chosen().levels.length - 1)) : 0})`;
  const isShown = (k) => !state.hidden.has(k);
  function draw(width) {
    const { levels, strength } = chosen();
    const lines = levels.map((level, k) => ({
      key: k, x: level.steps, mean: level.mean, low: level.low, high: level.high, colour: shade(k), marker: null,
      tips: (i) => ({ title: `${strength} = ${num(level.level)}`, pairs: [["step", num(level.steps[i])], ["mean", num(level.mean[i])], ["middle half", interval(level.low[i], level.high[i])]] }),
    })).filter((line) => isShown(line.key));
    const area = frame(width, Math.round(Math.min(400, Math.max(280, width * 0.4))), "Cumulative reward over time");
    const steps = lines.flatMap((line) => line.x);
    const x = linear(0, Math.max(1, ...steps), area.left, area.right - 10, width > 560 ? 8 : 4);
    const y = linear(...limits(lines, false), area.bottom, area.top);
    drawAxes(area, x, y, "step of the episode", "cumulative reward");
    return { area, targets: drawLines(area, lines, x, y, { opacity: 0.1 }) };
  }
  const table = () => [[chosen().strength, "step", "mean", "q25", "q75"], ...chosen().levels.flatMap((level) =>
    level.steps.map((step, i) => [level.level, step, level.mean[i], level.low[i], level.high[i]]))];
  const figure = el("figure", {}), box = el("div", {});
  let chart;
  function keys() {
    const toggle = (k) => { state.hidden.has(k) ? state.hidden.delete(k) : state.hidden.add(k); chart.redraw(); };
    const line = (k) => svgEl("svg", { class: "chart", viewBox: "0 0 26 12", "aria-hidden": "true" }, svgEl("path", { class: "line", d: "M1,6H25", stroke: shade(k) }));
    box.replaceChildren(legend(chosen().levels.map((level, k) => [k, `${chosen().strength} = ${num(level.level)}`]), isShown, toggle, line));
  }
  host.append(el("div", { class: "controls" },
    selectBox("Curve", found.map(({ curve }, i) => [i, curves[curve].name]), 0, (value) => { state.place = Number(value); state.hidden.clear(); keys(); chart.redraw(); }).node),
    box, figure, el("p", { class: "quiet" }, "The mean over episodes and seeds, and the middle half of the episodes. An episode that has ended keeps its return."
      + (leftOut ? ` ${leftOut} more curves are pictures beside this page.` : "")));
  keys();
  chart = plot(figure, () => "reward_over_time", draw, table);
}
