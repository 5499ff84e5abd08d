// A chart that is drawn again when its width changes, with hints under the pointer and under the arrow keys, and
// buttons that save it. `draw(width)` returns the area and its targets: places with a title and pairs, and `pick`.
function plot(host, name, draw, table) {
  const box = el("div", { class: "plot" });
  const buttons = el("div", { class: "save" });
  let area, targets = [], current = -1, width = 0;
  const ring = svgEl("circle", { class: "picked", r: 7, visibility: "hidden" });

  function point(index, picked) {
    current = index;
    const target = targets[index];
    const scale = area.root.getBoundingClientRect().width / area.width;
    const origin = area.root.getBoundingClientRect();
    const place = { left: origin.left + target.x * scale, top: origin.top + target.y * scale, width: 0, height: 0 };
    place.bottom = place.top;
    ring.setAttribute("cx", target.x);
    ring.setAttribute("cy", target.y);
    ring.setAttribute("visibility", "visible");
    area.root.querySelectorAll(".series").forEach((group) =>
      group.classList.toggle("faded", target.series !== undefined && group.dataset.series !== String(target.series)));
    tip.show(place, target.title, target.pairs);
    if (picked && target.pick) target.pick();
  }
  function leave() {
    current = -1;
    ring.setAttribute("visibility", "hidden");
    area.root.querySelectorAll(".faded").forEach((group) => group.classList.remove("faded"));
    tip.hide();
  }
  function nearest(event) {
    const origin = area.root.getBoundingClientRect();
    const scale = area.width / origin.width;
    const [x, y] = [(event.clientX - origin.left) * scale, (event.clientY - origin.top) * scale];
    let best = -1, least = Infinity;
    targets.forEach((target, i) => {
      const reach = target.half ? Math.max(Math.abs(target.x - x) / target.half[0], Math.abs(target.y - y) / target.half[1]) * 26 : Math.hypot(target.x - x, target.y - y);
      if (reach < least) { least = reach; best = i; }
    });
    return least <= 26 ? best : -1;
  }
  function onKey(event) {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Escape") return leave();
    if (event.key === "Enter" && current >= 0) { event.preventDefault(); return point(current, true); }
    if (!step || !targets.length) return undefined;
    event.preventDefault();
    if (current < 0) return point(0, true);
    const from = targets[current];
    const ahead = targets.map((target, i) => {
      const along = (target.x - from.x) * step[0] + (target.y - from.y) * step[1];
      const aside = Math.abs((target.x - from.x) * step[1]) + Math.abs((target.y - from.y) * step[0]);
      return { i, along, cost: along + 2 * aside };
    }).filter(({ i, along }) => i !== current && along > 0.4);
    if (ahead.length) point(ahead.reduce((a, b) => (b.cost < a.cost ? b : a)).i, true);
    return undefined;
  }
  function redraw() {
    width = Math.max(280, Math.floor(box.clientWidth || host.clientWidth || 640));
    leaveIfDrawn();
    ({ area, targets } = draw(width));
    area.root.append(ring);
    box.replaceChildren(area.root);
    const move = (event) => { const i = nearest(event); if (i < 0) leave(); else if (i !== current) point(i, false); };
    area.root.addEventListener("pointermove", move);
    area.root.addEventListener("pointerleave", leave);
    area.root.addEventListener("blur", leave);
    area.root.addEventListener("keydown", onKey);
    area.root.addEventListener("click", (event) => { const i = nearest(event); if (i >= 0) point(i, true); });
  }
  function leaveIfDrawn() { if (area && current >= 0) leave(); }

  const svgText = () => {
    const copyOf = area.root.cloneNode(true);
    copyOf.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copyOf.setAttribute("width", area.width);
    copyOf.setAttribute("height", area.height);
    copyOf.prepend(svgEl("style", {}, byId("chart-style").textContent),
      svgEl("rect", { width: area.width, height: area.height, fill: "#ffffff" }));
    return new XMLSerializer().serializeToString(copyOf);
  };
  function savePng() {
    const image = new Image();
    image.onload = () => {
      const canvas = el("canvas", { width: area.width * 2, height: area.height * 2 });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => download(`${name()}.png`, "image/png", blob));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText())}`;
  }
  const add = (text, action) => buttons.append(el("button", { type: "button", on: { click: action } }, text));
  if (table) add("Save CSV", () => saveCsv(name(), table()));
  add("SVG", () => download(`${name()}.svg`, "image/svg+xml", svgText()));
  add("PNG", savePng);
  host.append(box, buttons);
  redraw();
  let wait = 0;
  new ResizeObserver(() => {
    if (Math.abs((box.clientWidth || width) - width) < 2) return;
    cancelAnimationFrame(wait);
    wait = requestAnimationFrame(redraw);
  }).observe(box);
  return { redraw };
}

const VIRIDIS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37]];
function heat(share) {
  const place = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const i = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const rgb = VIRIDIS[i].map((v, k) => Math.round(v + (VIRIDIS[i + 1][k] - v) * (place - i)));
  const light = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] > 140;
  return { fill: `rgb(${rgb.join(",")})`, ink: light ? "#111111" : "#ffffff" };
}

// A map: { x, y, values[row][column], xLabel, yLabel, share, tip(row, column) }; null fields are blank.
function drawMap(width, map, label) {
  const long = Math.max(...map.y.map((text) => text.length), 4);
  const left = Math.min(long * 6.6 + 30, width * 0.42);
  const wide = (width - left - 12) / map.x.length;
  const high = map.y.length > 16 ? 22 : Math.max(22, Math.min(44, wide * 0.62));
  // A long name under a column has a line for each word.
  const words = map.x.map((text) => (text.length * 6.8 + 6 > wide ? text.split(" ") : [text]));
  const below = 14 * Math.max(...words.map((lines) => lines.length));
  const area = frame(width, map.y.length * high + below + 48, label, { left, top: 8, right: 12, bottom: below + 40 });
  const numbers = map.values.flat().filter((v) => v !== null);
  const [low, top] = map.share ? [0, 1] : [Math.min(...numbers), Math.max(...numbers)];
  const most = Math.floor(left / 6.8) - 2;
  const targets = [];
  map.y.forEach((text, row) => {
    const y = area.top + row * high;
    const short = text.length > most ? `…${text.slice(-most)}` : text;
    area.root.append(svgEl("text", { x: left - 8, y: y + high / 2 + 4, "text-anchor": "end" }, short, svgEl("title", {}, text)));
    map.x.forEach((_, column) => {
      const value = map.values[row][column];
      if (value === null || value === undefined) return;
      const x = area.left + column * wide;
      const { fill, ink } = heat(top === low ? 0.5 : (value - low) / (top - low));
      area.root.append(svgEl("rect", { x: x + 0.5, y: y + 0.5, width: wide - 1, height: high - 1, fill }));
      const shown = num(value, 3);
      if (wide > shown.length * 6.4 + 4) {
        area.root.append(svgEl("text", { x: x + wide / 2, y: y + high / 2 + 4, "text-anchor": "middle", style: `fill:${ink}` }, shown));
      }
      targets.push({ x: x + wide / 2, y: y + high / 2, half: [wide / 2, high / 2], ...map.tip(row, column) });
    });
  });
  const at = (i) => area.left + (i + 0.5) * wide;
  const bottom = area.top + map.y.length * high;
  const every = Math.ceil((Math.max(...words.flat().map((word) => word.length)) * 6.8 + 6) / wide);
  words.forEach((lines, i) => lines.forEach((word, k) => {
    if (i % every === 0) area.root.append(svgEl("text", { x: at(i), y: bottom + 18 + 14 * k, "text-anchor": "middle" }, word));
  }));
  area.root.append(svgEl("text", { class: "strong", x: (area.left + area.right) / 2, y: bottom + below + 26, "text-anchor": "middle" }, map.xLabel));
  if (map.yLabel) area.root.append(svgEl("text", { class: "strong", x: 2, y: bottom + below + 26 }, map.yLabel));
  return { area, targets };
}

// A radar: { axes, rows: [{ name, values }] } with values from 0 to 1.
function drawRadar(width, data, label, isShown) {
  const size = Math.min(width, 430);
  const area = frame(width, size, label, { left: 0, right: 0, top: 0, bottom: 0 });
  const [cx, cy, radius] = [width / 2, size / 2, size / 2 - 46];
  const spot = (axis, value) => {
    const angle = (2 * Math.PI * axis) / data.axes.length - Math.PI / 2;
    return [cx + Math.cos(angle) * radius * value, cy + Math.sin(angle) * radius * value];
  };
  const ringPath = (value) => `M${data.axes.map((_, i) => spot(i, value).map((v) => v.toFixed(1)).join(",")).join("L")}Z`;
  [0.25, 0.5, 0.75, 1].forEach((value) => {
    area.root.append(svgEl("path", { class: "grid", d: ringPath(value), fill: "none" }),
      svgEl("text", { x: cx + 4, y: cy - radius * value - 2, "font-size": 10 }, num(value)));
  });
  data.axes.forEach((name, i) => {
    const [x, y] = spot(i, 1.1);
    const anchor = Math.abs(x - cx) < 8 ? "middle" : x > cx ? "start" : "end";
    area.root.append(svgEl("line", { class: "grid", x1: cx, y1: cy, x2: spot(i, 1)[0], y2: spot(i, 1)[1] }),
      svgEl("text", { class: "strong", x, y: y + 4, "text-anchor": anchor }, name));
  });
  const targets = [];
  data.rows.forEach((row, number) => {
    if (!isShown(number)) return;
    const group = svgEl("g", { class: "series", "data-series": number });
    const known = row.values.map((value, i) => [i, value]).filter(([, value]) => value !== null);
    const path = known.map(([i, value]) => spot(i, value).map((v) => v.toFixed(1)).join(",")).join("L");
    if (known.length) group.append(svgEl("path", { class: "line", d: `M${path}Z`, stroke: colourOf(number) }));
    known.forEach(([i, value]) => {
      const [x, y] = spot(i, value);
      group.append(marker(markerOf(number), x, y, 3.6, colourOf(number)));
      targets.push({ x, y, series: number, title: row.name, pairs: [[data.axes[i], num(value)]] });
    });
    area.root.append(group);
  });
  return { area, targets };
}

// Bars: { names, bars: [{ name, values, low?, high? }] }, a row for each name.
function drawBars(width, data, xLabel, label, isShown) {
  const shown = data.bars.map((bar, i) => ({ ...bar, i })).filter((bar) => isShown(bar.i));
  const left = Math.min(Math.max(...data.names.map((name) => name.length), 4) * 6.6 + 22, width * 0.42);
  const row = Math.max(24, 15 * data.bars.length + 8);
  const area = frame(width, row * data.names.length + 56, label, { left, top: 8, right: 16, bottom: 48 });
  const x = linear(...limits([{ mean: [0] }, ...shown.map((bar) => ({ mean: bar.values, low: bar.low, high: bar.high }))], false, true), area.left, area.right, width > 560 ? 8 : 4);
  const most = Math.floor(left / 6.8) - 1;
  const targets = [];
  x.ticks.forEach((tick) => area.root.append(
    svgEl("line", { class: "grid", x1: x.at(tick), x2: x.at(tick), y1: area.top, y2: area.bottom }),
    svgEl("text", { x: x.at(tick), y: area.bottom + 16, "text-anchor": "middle" }, num(tick))));
  area.root.append(svgEl("text", { class: "strong", x: (area.left + area.right) / 2, y: area.bottom + 38, "text-anchor": "middle" }, xLabel));
  data.names.forEach((name, k) => {
    const top = area.top + k * row + 4;
    const short = name.length > most ? `…${name.slice(-most)}` : name;
    area.root.append(svgEl("text", { x: left - 8, y: top + row / 2, "text-anchor": "end" }, short, svgEl("title", {}, name)));
    const thick = (row - 8) / Math.max(shown.length, 1);
    shown.forEach((bar, place) => {
      const value = bar.values[k];
      if (value === null) return;
      const [from, to] = [x.at(Math.min(0, value)), x.at(Math.max(0, value))];
      const middle = top + (place + 0.5) * thick;
      const group = svgEl("g", { class: "series", "data-series": bar.i });
      group.append(svgEl("rect", { x: from, y: middle - thick / 2 + 1, width: Math.max(to - from, 1), height: thick - 2, fill: colourOf(bar.i) }));
      const [low, high] = [bar.low?.[k] ?? null, bar.high?.[k] ?? null];
      if (low !== null && high !== null) group.append(svgEl("path", { d: `M${x.at(low)},${middle}H${x.at(high)}M${x.at(low)},${middle - 3}v6M${x.at(high)},${middle - 3}v6`, stroke: "var(--ink)", "stroke-width": 1.2 }));
      area.root.append(group);
      targets.push({ x: x.at(value), y: middle, series: bar.i, title: name, pairs: [[bar.name, bounded(value, low, high)]] });
    });
  });
  area.root.append(svgEl("line", { class: "zero", x1: x.at(0), x2: x.at(0), y1: area.top, y2: area.bottom }));
  return { area, targets };
}

// Buttons that switch lines on and off; many lines get a box that scrolls.
function legend(names, isShown, toggle, swatchOf = swatch) {
  const buttons = names.map(([number, name]) => {
    const button = el("button", { type: "button", "data-curve": number, "aria-pressed": String(isShown(number)) }, swatchOf(number), name);
    button.addEventListener("click", () => { toggle(number); button.setAttribute("aria-pressed", String(isShown(number))); });
    return button;
  });
  return el("div", { class: names.length > 16 ? "legend long" : "legend", role: "group", "aria-label": "Curves" }, buttons);
}
