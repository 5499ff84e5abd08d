const COLOURS = 8;
const MARKERS = ["circle", "square", "triangle", "diamond", "down", "plus", "cross"];
const colourOf = (number) => `var(--c${number % COLOURS})`;
const markerOf = (number) => MARKERS[(number + Math.floor(number / COLOURS)) % MARKERS.length];

function markerPath(kind, x, y, r) {
  const points = {
    square: [[-r, -r], [r, -r], [r, r], [-r, r]],
    triangle: [[0, -r * 1.25], [r * 1.15, r * 0.85], [-r * 1.15, r * 0.85]],
    down: [[0, r * 1.25], [r * 1.15, -r * 0.85], [-r * 1.15, -r * 0.85]],
    diamond: [[0, -r * 1.35], [r * 1.35, 0], [0, r * 1.35], [-r * 1.35, 0]],
  }[kind];
  if (points) return `M${points.map(([a, b]) => `${(x + a).toFixed(1)},${(y + b).toFixed(1)}`).join("L")}Z`;
  if (kind === "plus") return `M${x - r * 1.2},${y}H${x + r * 1.2}M${x},${y - r * 1.2}V${y + r * 1.2}`;
  if (kind === "cross") return `M${x - r},${y - r}L${x + r},${y + r}M${x - r},${y + r}L${x + r},${y - r}`;
  return `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`;
}
function marker(kind, x, y, r, colour, hollow = false) {
  const open = kind === "plus" || kind === "cross";
  return svgEl("path", {
    d: markerPath(kind, x, y, r), fill: open ? "none" : hollow ? "var(--paper)" : colour, stroke: colour,
    "stroke-width": open || hollow ? 1.6 : 0.6,
  });
}
function swatch(number, dashed = false) {
  const colour = colourOf(number);
  return svgEl("svg", { class: "chart", viewBox: "0 0 26 12", "aria-hidden": "true" },
    svgEl("path", { class: "line", d: "M1,6H25", stroke: colour, "stroke-dasharray": dashed ? "5 3" : null }),
    marker(markerOf(number), 13, 6, 3.6, colour));
}

// Round steps of 1, 2 or 5 times a power of ten.
function ticksBetween(low, high, most) {
  const span = high - low || 1;
  const rough = span / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => span / size <= most);
  const ticks = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) ticks.push(Number(value.toPrecision(12)));
  return ticks;
}
function linear(low, high, from, to, most = 5) {
  const span = high - low || 1;
  return { at: (value) => from + ((value - low) / span) * (to - from), ticks: ticksBetween(low, high, most) };
}
// Levels on a logarithmic axis; 0 has a place of its own before the smallest one, negative levels are on its other side.
function logarithmic(values, from, to) {
  const sizes = values.filter((value) => value !== 0).map(Math.abs);
  const middle = values.some((value) => value < 0) ? (from + to) / 2 : from;
  const low = Math.log10(Math.min(...sizes)), high = Math.log10(Math.max(...sizes));
  const start = values.includes(0) || middle !== from ? middle + (to - middle) * 0.1 : from;
  const place = linear(high === low ? low - 1 : low, high, start, to);
  const right = (value) => (value === 0 ? middle : place.at(Math.log10(Math.abs(value))));
  return { at: (value) => (value < 0 ? 2 * middle - right(value) : right(value)), ticks: [...new Set(values)] };
}
// Of ticks that would lie on each other, keeps those that fit; the first and the last come first.
function fitting(ticks, at, width) {
  const order = ticks.length > 2 ? [ticks[0], ticks[ticks.length - 1], ...ticks.slice(1, -1)] : ticks;
  const kept = [];
  for (const tick of order) {
    const need = (other) => (num(tick).length + num(other).length) * 3.6 + 8;
    if (kept.every((other) => Math.abs(at(tick) - at(other)) >= need(other))) kept.push(tick);
  }
  return kept.sort((a, b) => at(a) - at(b));
}

function frame(width, height, label, margin = {}) {
  const m = { top: 14, right: 14, bottom: 44, left: 56, ...margin };
  const root = svgEl("svg", {
    class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, tabindex: "0",
  });
  return { root, left: m.left, right: width - m.right, top: m.top, bottom: height - m.bottom, width, height };
}
// A text that fits into a width, and the whole of it as a hint.
function fitted(text, width) {
  const most = Math.max(4, Math.floor(width / 6.6));
  return [brief(text, most), wholeName(text, most) && svgEl("title", {}, text)];
}
function drawAxes(area, x, y, xLabel, yLabel) {
  const { root, left, right, top, bottom } = area;
  for (const tick of y.ticks) {
    const place = y.at(tick);
    root.append(svgEl("line", { class: "grid", x1: left, x2: right, y1: place, y2: place }),
      svgEl("text", { x: left - 8, y: place + 4, "text-anchor": "end" }, num(tick)));
  }
  root.append(svgEl("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }));
  for (const tick of fitting(x.ticks, x.at, right - left)) {
    const place = x.at(tick);
    root.append(svgEl("line", { class: "axis", x1: place, x2: place, y1: bottom, y2: bottom + 5 }),
      svgEl("text", { x: place, y: bottom + 19, "text-anchor": "middle" }, num(tick)));
  }
  root.append(svgEl("text", { class: "strong", x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" }, ...fitted(xLabel, right - left)));
  if (yLabel) {
    root.append(svgEl("text", {
      class: "strong", transform: `translate(14,${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle",
    }, ...fitted(yLabel, bottom - top + 40)));
  }
}

// Limits of an axis of values: all means, and the intervals where they are near.
function limits(series, share, whole = false) {
  const means = series.flatMap((line) => line.mean).filter((v) => v !== null);
  if (!means.length) return [0, 1];
  if (share && means.every((v) => v >= 0 && v <= 1)) return [0, 1];
  let low = Math.min(...means), high = Math.max(...means);
  const reach = (high - low) / 4 || Math.abs(high) * 0.1 || 1;
  const ends = series.flatMap((line) => [...(line.low ?? []), ...(line.high ?? [])]).filter((v) => v !== null);
  low = Math.max(whole ? -Infinity : low - reach, Math.min(low, ...ends));
  high = Math.min(whole ? Infinity : high + reach, Math.max(high, ...ends));
  const margin = (high - low || reach) * 0.05;
  return [low - margin, high + margin];
}

// Draws lines with bands. A line has x, mean, low, high, colour, marker, and `tips` with title and pairs per point.
function drawLines(area, lines, x, y, options = {}) {
  const targets = [];
  const clip = `clip${Math.random().toString(36).slice(2)}`;
  area.root.append(svgEl("clipPath", { id: clip }, svgEl("rect", {
    x: area.left - 6, y: area.top - 6, width: area.right - area.left + 12, height: area.bottom - area.top + 12,
  })));
  const drawn = svgEl("g", { "clip-path": `url(#${clip})` });
  area.root.append(drawn);
  for (const line of lines) {
    const group = svgEl("g", { class: "series", "data-series": line.key });
    const places = line.x.map((value, i) => i).filter((i) => line.mean[i] !== null);
    const known = places.filter((i) => line.low && line.low[i] !== null && line.high[i] !== null);
    if (options.bands !== false && known.length > 1) {
      const top = known.map((i) => `${x.at(line.x[i]).toFixed(1)},${y.at(line.high[i]).toFixed(1)}`);
      const bottom = known.map((i) => `${x.at(line.x[i]).toFixed(1)},${y.at(line.low[i]).toFixed(1)}`).reverse();
      group.append(svgEl("path", { class: "band", d: `M${[...top, ...bottom].join("L")}Z`, fill: line.colour, opacity: options.opacity ?? 0.15 }));
    }
    const path = places.map((i) => `${x.at(line.x[i]).toFixed(1)},${y.at(line.mean[i]).toFixed(1)}`).join("L");
    if (places.length > 1) group.append(svgEl("path", { class: "line", d: `M${path}`, stroke: line.colour, "stroke-dasharray": line.dash }));
    for (const i of places) {
      const [px, py] = [x.at(line.x[i]), y.at(line.mean[i])];
      if (options.whiskers && line.low[i] !== null) {
        group.append(svgEl("path", { d: `M${px},${y.at(line.low[i])}V${y.at(line.high[i])}`, stroke: line.colour, "stroke-width": 1.4 }));
      }
      if (line.marker) group.append(marker(line.marker, px, py, 4, line.colour, line.hollow && line.hollow[i]));
      targets.push({ x: px, y: py, series: line.key, ...line.tips(i) });
    }
    drawn.append(group);
  }
  return targets;
}
