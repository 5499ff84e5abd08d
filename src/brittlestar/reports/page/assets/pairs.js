function pairsPart(host) {
  const { curves } = DATA.curves;
  const { pairs, left_out: leftOut, wheres } = DATA.pairs;
  const measures = [...new Set(pairs.map((pair) => pair.measure))];
  const first = pairs.find((pair) => pair.measure === (DATA.pairs.first ?? strictest())) ?? pairs[0];
  const state = { a: first ? first.a : 0, b: first ? first.b : 1, measure: first ? first.measure : "" };
  const flip = (values) => values.map((value) => (value === null ? null : -value));

  // The pair as chosen; one that was computed the other way round has its signs and its sides exchanged.
  function found() {
    const pair = pairs.find((p) => p.measure === state.measure && p.a === state.a && p.b === state.b);
    if (pair) return pair;
    const other = pairs.find((p) => p.measure === state.measure && p.a === state.b && p.b === state.a);
    if (!other) return null;
    const { levels, over } = other;
    return {
      ...other, a: state.a, b: state.b,
      levels: { ...levels, a: levels.b, b: levels.a, difference: flip(levels.difference), low: flip(levels.high), high: flip(levels.low) },
      over: { ...over, a: over.b, b: over.a, difference: -over.difference, low: -over.high, high: -over.low },
    };
  }
  // The verdict, with names that are cut as everywhere.
  const briefly = (pair) => [curves[pair.a].name, curves[pair.b].name].reduce((text, name) => text.replaceAll(name, brief(name)), pair.verdict);
  function draw(width) {
    const pair = found();
    const height = Math.round(Math.min(380, Math.max(260, width * 0.36)));
    const area = frame(width, height, `Difference in ${state.measure}`, { right: 78 });
    if (!pair) return { area, targets: [] };
    const { strength, difference, low, high, p_holm: holm, n_a: n } = pair.levels;
    const line = {
      key: 0, x: strength, mean: difference, low, high, colour: "var(--c0)", marker: "circle", dash: null,
      hollow: pair.decided.map((decided) => !decided),
      tips: (i) => ({
        title: pair.decided[i] ? "decided" : "not decided",
        pairs: [
          [curves[state.a].strength, num(strength[i])], ["A", num(pair.levels.a[i])], ["B", num(pair.levels.b[i])],
          ["A minus B", num(difference[i])], ["95 % interval", interval(low[i], high[i])],
          ["p (Holm)", num(holm[i])], ["n", `${n[i]} pairs`], ["method", pair.methods[i]],
        ],
      }),
    };
    const [bottom, top] = limits([line, { mean: [0] }], false, true);
    const levels = strength.length > 1 ? [Math.min(...strength), Math.max(...strength)] : [strength[0] - 1, strength[0] + 1];
    const x = linear(...levels, area.left + 10, area.right - 10, width > 560 ? 8 : 4);
    const y = linear(bottom, top, area.bottom, area.top);
    drawAxes(area, x, y, curves[state.a].strength, `A minus B, ${state.measure.replaceAll("_", " ")}`);
    area.root.append(svgEl("line", { class: "zero", x1: area.left, x2: area.right, y1: y.at(0), y2: y.at(0) }),
      svgEl("text", { x: area.right + 8, y: y.at(0) - 6 }, "A higher ↑"),
      svgEl("text", { x: area.right + 8, y: y.at(0) + 15 }, "B higher ↓"));
    return { area, targets: drawLines(area, [line], x, y, { whiskers: true }) };
  }
  const columns = ["strength", "a", "b", "difference", "low", "high", "p", "p_holm"];
  const head = [...columns, "n", "decided"];
  const tableRows = (pair) => pair.levels.strength.map((level, i) => [
    ...[...columns, "n_a"].map((name) => pair.levels[name][i]), pair.decided[i] ? "yes" : "no",
  ]);
  const sentence = el("p", { class: "pair-verdict", id: "pair-verdict" });
  const below = el("div", {}), figure = el("figure", {});
  let chart;
  function update() {
    const pair = found();
    figure.hidden = !pair;
    below.replaceChildren();
    if (!pair) {
      const same = state.a === state.b;
      sentence.textContent = same ? "Choose two different curves."
        : "This pair is not on the page: its curves share no episodes or levels, or the pairs were too many." + (wheres.length ? " This command compares it:" : "");
      if (!same && wheres.length) {
        const where = (side, conditions) => conditions.map((word) => `--where-${side} ${word}`).join(" ");
        const folder = DATA.episodes.folders[0];
        below.append(commandLine(`brittlestar compare ${folder} ${folder} ${where("a", wheres[state.a])} ${where("b", wheres[state.b])} --measure ${state.measure || "success_any"}`));
      }
      return;
    }
    const decided = pair.decided.filter(Boolean).length;
    const over = `${pair.over.method.split(",")[0]}: ${signed(pair.over.difference)} ${interval(pair.over.low, pair.over.high)}`;
    sentence.textContent = `${briefly(pair).replace(/^no /, "No ")}. Decided at ${decided} of ${pair.decided.length} levels; ${over}.`;
    below.append(dataTable(head, tableRows(pair), `difference_${state.measure}`),
      el("p", { class: "quiet" }, `Method: ${[...new Set(pair.methods)].join("; or ")}.`));
    chart.redraw();
  }
  const names = curves.map((curve, i) => [i, curve.name]);
  host.append(el("div", { class: "controls" },
    selectBox("A", names, state.a, (value) => { state.a = Number(value); update(); }).node,
    selectBox("B", names, state.b, (value) => { state.b = Number(value); update(); }).node,
    measures.length ? selectBox("Metric", measures.map((m) => [m, m.replaceAll("_", " ")]), state.measure, (value) => { state.measure = value; update(); }).node : null),
    sentence, figure, below,
    el("p", { class: "quiet" }, "Same start states and noise on both sides. Decided: the interval excludes 0, and the test, corrected by Holm over all levels, is below 0.05. Numbers are those of brittlestar compare, for the pairs and metrics listed here."
      + (leftOut ? ` ${leftOut} further comparisons were too many to compute in advance.` : "")));
  chart = plot(figure, () => `difference_${state.measure}`, draw, () => {
    const pair = found();
    return [[...head, "method"], ...(pair ? tableRows(pair).map((row, i) => [...row, pair.methods[i]]) : [])];
  });
  update();
  addQuestions(pairs, curves);
}

// Adds the pairs that no metric of success decides to the list at the top.
function addQuestions(pairs, curves) {
  const headline = DATA.curves.metrics.filter((metric) => metric.measure).map((metric) => metric.name);
  const open = pairs.filter((pair) => headline.includes(pair.measure) && pair.over.low <= 0 && pair.over.high >= 0);
  const list = byId("questions");
  open.slice(0, 3).forEach((pair) => list.append(el("li", {},
    `whether ${brief(curves[pair.a].name)} or ${brief(curves[pair.b].name)} has more ${pair.measure.replaceAll("_", " ")} over the curve: ${signed(pair.over.difference)} ${interval(pair.over.low, pair.over.high)}`)));
  if (open.length > 3) list.append(el("li", {}, `${open.length - 3} more pairs`));
  if (open.length) byId("all-decided").hidden = true;
}
