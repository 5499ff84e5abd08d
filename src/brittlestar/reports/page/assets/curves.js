const DATA = readJson("data");
const MOST_BANDS = 12;

// Absolute values of a metric, or relative to those without perturbation; null where a curve has neither.
function valuesOf(curve, metric, retained) {
  const found = curve.values[metric];
  if (!found) return null;
  const [mean, low, high, method] = found;
  if (!retained) return { mean, low, high, method };
  const clean = mean[curve.levels.indexOf(0)];
  if (!(clean > 0)) return null;
  const share = (values) => values.map((value) => (value === null ? null : value / clean));
  return { mean: share(mean), low: share(low), high: share(high), method };
}
const lastPart = (column) => column.split(".").pop();
const metricTitle = (name) => DATA.curves.metrics.find((metric) => metric.name === name).title;
const strengthNames = () => [...new Set(DATA.curves.curves.map((curve) => curve.strength))];

// Of several measures of success, the last one is the hardest to reach.
const strictest = () => (DATA.curves.metrics.filter((metric) => metric.measure).pop() ?? DATA.curves.metrics[0]).name;

function curveTips(curve, metric, values, retained) {
  return (i) => ({
    title: curve.name,
    pairs: [
      [curve.strength, num(curve.levels[i])],
      [retained ? `${metricTitle(metric)}, retained` : metricTitle(metric), num(values.mean[i])],
      ["95 % interval", interval(values.low[i], values.high[i])],
      ["n", `${curve.n[i]} episodes, ${curve.seeds[i]} seed${curve.seeds[i] === 1 ? "" : "s"}`],
      ["method", DATA.curves.methods[values.method[i]] + (retained ? "; divided by the clean mean" : "")],
    ],
  });
}

function curvesPart(host) {
  const { curves, metrics, columns } = DATA.curves;
  const shares = metrics.filter((metric) => metric.measure);
  const axes = strengthNames();
  const ALL = "every perturbation, as a share of its largest level";
  const state = {
    metric: metrics[0].name, second: shares.length > 1 ? shares[1].name : "", retained: false,
    axis: axes[0], log: false, hidden: new Set(),
  };
  const onAxis = () => curves.map((curve, i) => i).filter((i) => state.axis === ALL || curves[i].strength === state.axis);
  const isShown = (i) => !state.hidden.has(i);
  let isCut = false;
  const relative = (curve) => {
    const largest = Math.max(...curve.levels.map(Math.abs)) || 1;
    return curve.levels.map((level) => Math.abs(level) / largest);
  };
  const xOf = (curve) => (state.axis === ALL ? relative(curve) : curve.levels);

  function lines() {
    const found = [];
    for (const i of onAxis().filter(isShown)) {
      [state.metric, state.second].filter(Boolean).forEach((metric, place) => {
        const values = valuesOf(curves[i], metric, state.retained);
        if (!values) return;
        found.push({
          ...values, key: i, x: xOf(curves[i]), colour: colourOf(i), marker: markerOf(i), dash: place ? "6 4" : null,
          hollow: curves[i].missed ? values.mean.map(() => true) : null, metric,
          tips: curveTips(curves[i], metric, values, state.retained),
        });
      });
    }
    return found;
  }
  function draw(width) {
    const shown = lines();
    const height = Math.round(Math.min(460, Math.max(300, width * 0.46)));
    const chosen = [state.metric, state.second].filter(Boolean);
    const described = metrics.filter((metric) => chosen.includes(metric.name));
    const yLabel = chosen.map(metricTitle).join(" and ") + (state.retained ? ", relative to clean" : "");
    const area = frame(width, height, `${yLabel} against ${state.axis}`);
    const levels = shown.flatMap((line) => line.x);
    const ends = levels.length ? [Math.min(...levels), Math.max(...levels)] : [0, 1];
    const canLog = state.log && levels.some((level) => level !== 0);
    const x = canLog ? logarithmic(levels, area.left + 8, area.right - 8) : linear(...ends, area.left + 8, area.right - 8, width > 560 ? 8 : 4);
    const [bottom, top] = limits(shown, described.every((metric) => metric.share));
    const y = linear(bottom, top, area.bottom, area.top);
    isCut = shown.some((line) => line.low.some((v) => v !== null && v < bottom) || line.high.some((v) => v !== null && v > top));
    drawAxes(area, x, y, state.axis === ALL ? "share of the largest level" : axisLabel(), yLabel);
    if (!shown.length) area.root.append(svgEl("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, emptyReason()));
    return { area, targets: drawLines(area, shown, x, y, { bands: new Set(shown.map((line) => line.key)).size <= MOST_BANDS, opacity: shown.length > 6 ? 0.09 : 0.15 }) };
  }
  function axisLabel() {
    const options = new Set(onAxis().map((i) => curves[i].label.perturbation));
    return options.size === 1 ? `${state.axis} of ${[...options][0]}` : state.axis;
  }
  const emptyReason = () => (state.retained ? "no curve has a clean mean above 0 to divide by" : "no curve is switched on");
  function table() {
    const head = ["curve", ...columns, "strength_name", "strength", "metric", "value", "low", "high", "n_episodes", "n_seeds", "method"];
    return [head, ...lines().flatMap((line) => {
      const curve = curves[line.key];
      return curve.levels.map((level, k) => [
        curve.name, ...columns.map((c) => curve.label[c]), curve.strength, level, line.metric, line.mean[k], line.low[k],
        line.high[k], curve.n[k], curve.seeds[k], DATA.curves.methods[line.method[k]],
      ]);
    })];
  }

  const options = metrics.map((metric) => [metric.name, metric.title]);
  const figure = el("figure", {});
  const legendBox = el("div", {}), remark = el("p", { class: "quiet" });
  let chart;
  const filterButtons = [];
  // A value is on while a curve with it is drawn, whatever hid the others.
  const isDrawn = (column, value) => curves.some((curve, i) => curve.label[column] === value && !state.hidden.has(i));
  const update = () => {
    filterButtons.forEach(({ button, column, value }) => button.setAttribute("aria-pressed", String(isDrawn(column, value))));
    chart.redraw();
    remark.textContent = remarks();
  };
  function remarks() {
    const parts = [];
    if (state.second) parts.push(`Solid: ${metricTitle(state.metric)}; dashed: ${metricTitle(state.second)}.`);
    if (state.retained) parts.push("Values and intervals are divided by the clean mean of their curve, whose own uncertainty is not in the interval.");
    if (onAxis().filter(isShown).length > MOST_BANDS) parts.push(`Intervals are drawn for at most ${MOST_BANDS} curves; the hints always have them.`);
    if (isCut) parts.push("Wide intervals are cut at the edge; the hints hold them.");
    if (curves.some((curve) => curve.missed)) parts.push("Hollow: the policy misses its recorded return.");
    if (DATA.curves.left_out) parts.push(`${DATA.curves.left_out} more curves are in curve.csv.`);
    if (!DATA.curves.all_metrics) parts.push("More metrics are in curve.csv.");
    return parts.join(" ");
  }
  function rebuildLegend() {
    const toggle = (i) => { state.hidden.has(i) ? state.hidden.delete(i) : state.hidden.add(i); update(); };
    legendBox.replaceChildren(legend(onAxis().map((i) => [i, curves[i].name]), isShown, toggle));
  }
  function filters() {
    return columns.map((column) => {
      const values = [...new Set(curves.map((curve) => curve.label[column]))];
      if (values.length < 2 || curves.length < 3 || values.length > 40 || values.length === curves.length) return null;
      const buttons = values.map((value) => {
        const button = el("button", { type: "button", "aria-pressed": "true", title: wholeName(value) }, brief(value || "none"));
        button.addEventListener("click", () => {
          const on = !isDrawn(column, value);
          curves.forEach((curve, i) => { if (curve.label[column] === value) on ? state.hidden.delete(i) : state.hidden.add(i); });
          rebuildLegend();
          update();
        });
        filterButtons.push({ button, column, value });
        return button;
      });
      return el("div", { class: "filter", role: "group", "aria-label": column }, el("span", {}, lastPart(column)), buttons);
    });
  }
  const all = (on) => el("button", { type: "button", on: { click: () => {
    onAxis().forEach((i) => (on ? state.hidden.delete(i) : state.hidden.add(i)));
    rebuildLegend();
    update();
  } } }, on ? "All" : "None");
  const controls = el("div", { class: "controls" },
    selectBox("Metric", options, state.metric, (value) => { state.metric = value; if (state.second === value) state.second = ""; update(); }).node,
    selectBox("Second metric, dashed", [["", "none"], ...options], state.second, (value) => { state.second = value; update(); }).node,
    axes.length > 1 ? selectBox("Axis", [...axes.map((name) => [name, name]), [ALL, ALL]], state.axis, (value) => { state.axis = value; rebuildLegend(); update(); }).node : null,
    choice("Values", [["absolute", "Absolute"], ["retained", "Retained"]], "absolute", (value) => { state.retained = value === "retained"; update(); }).node,
    choice("Level axis", [["linear", "Linear"], ["log", "Log"]], "linear", (value) => { state.log = value === "log"; update(); }).node,
    curves.length > 3 ? el("span", { class: "choice" }, all(true), all(false)) : null);
  rebuildLegend();
  host.append(controls, ...filters().filter(Boolean), legendBox, figure, remark);
  chart = plot(figure, () => `curves_${state.metric}`, draw, table);
  remark.textContent = remarks();
}

function mapPart(host) {
  const { curves, metrics, columns } = DATA.curves;
  const numeric = columns.filter((column) => curves.every((curve) => curve.label[column] !== "" && Number.isFinite(Number(curve.label[column]))));
  const second = numeric.sort((a, b) => new Set(curves.map((c) => c.label[b])).size - new Set(curves.map((c) => c.label[a])).size)[0];
  const others = columns.filter((column) => column !== second);
  const groupOf = (curve) => others.map((column) => curve.label[column]).join(", ") || "all";
  const groups = second ? [...new Set(curves.map(groupOf))] : strengthNames();
  const state = { metric: strictest(), group: groups[0] };
  const members = () => curves.filter((curve) => (second ? groupOf(curve) : curve.strength) === state.group);
  const rowsOf = () => {
    const rows = members().filter((curve) => curve.values[state.metric]);
    return second ? rows.sort((a, b) => Number(b.label[second]) - Number(a.label[second])) : rows;
  };
  function map() {
    const rows = rowsOf();
    const levels = [...new Set(rows.flatMap((curve) => curve.levels))].sort((a, b) => a - b);
    const at = (curve, column) => curve.levels.indexOf(levels[column]);
    const metric = metrics.find(({ name }) => name === state.metric);
    return {
      rows, levels, x: levels.map((level) => num(level)), y: rows.map((curve) => (second ? num(Number(curve.label[second])) : curve.name)),
      values: rows.map((curve) => levels.map((_, k) => (at(curve, k) < 0 ? null : curve.values[state.metric][0][at(curve, k)]))),
      xLabel: rows.length ? rows[0].strength : "strength", yLabel: second ? lastPart(second) : "", share: metric.share,
      tip: (row, k) => curveTips(rows[row], state.metric, valuesOf(rows[row], state.metric, false), false)(at(rows[row], k)),
    };
  }
  const draw = (width) => drawMap(width, map(), `${metricTitle(state.metric)} by curve and level`);
  const table = () => { const m = map(); return [[m.yLabel || "curve", ...m.levels], ...m.values.map((row, i) => [m.y[i], ...row])]; };
  let chart;
  const figure = el("figure", {});
  host.append(el("div", { class: "controls" },
    selectBox("Metric", metrics.map((m) => [m.name, m.title]), state.metric, (value) => { state.metric = value; chart.redraw(); }).node,
    groups.length > 1 ? selectBox(second ? "Map of" : "Axis", groups.map((g) => [g, g]), state.group, (value) => { state.group = value; chart.redraw(); }).node : null), figure);
  chart = plot(figure, () => `map_${state.metric}`, draw, table);
}
