// What all pages share: elements, tables, charts, the filter, and the choice of a run.
const runs = JSON.parse(document.getElementById("data").textContent);
// By the kind of a run: the functions that build its sections, from the first to the last. Each returns functions that
// draw its tables again, for another filter.
const pages = {};
const number = new Intl.NumberFormat("en");
let filter = "";

// Text is only ever set as text: names of cases and messages cannot become markup.
const make_in = (space) => (tag, properties = {}, ...children) => {
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};
const make = make_in(document.documentElement.namespaceURI);
const svg = make_in("http://www.w3.org/2000/svg");
const at = (id) => document.getElementById(id);

const words = (name) => name.replaceAll("_", " ");
const counted = (count, noun) => `${number.format(count)} ${noun}${count === 1 ? "" : "s"}`;
const scaled = (x, units) => {
  const [least, unit] = units.find(([least]) => x >= least) ?? units.at(-1);
  return `${Number((x / least).toPrecision(3))} ${unit}`;
};
const seconds = (s) => scaled(s, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
const rate = (x, unit) => scaled(x, [[1e12, `T${unit}`], [1e9, `G${unit}`], [1e6, `M${unit}`], [1e3, `k${unit}`], [1, unit]]);
const share = (x) => `${(100 * x).toFixed(1)}%`;
const figure = (x) => x === null ? "" : typeof x === "string" ? x : x === 0 ? "0" : Number(x).toPrecision(3);
const sum = (list) => list.reduce((a, b) => a + b, 0);
// SLOWER, FASTER and the other verdicts on a time.
const speed = (verdict) => make("b", {class: {SLOWER: "failed", FASTER: "passed"}[verdict] ?? "soft"}, verdict);
const is_shown = (text) => text.toLowerCase().includes(filter);

const remove_section = (id) => {
  at(id).remove();
  at("links").querySelector(`[href="#${id}"]`).remove();
};
const tiles = (list) => at("tiles").append(...list.map(([value, title, kind = ""]) =>
  make("li", {}, make("b", {class: kind}, value), title)));

// A column of names: sorts as text.
const named = (title, member, properties = {}) =>
  ({title, show: (row) => row[member], key: (row) => row[member], ...properties});
// A column of figures: right, sorts down.
const counts = (title, member, show = number.format) =>
  ({title, number: true, show: (row) => show(row[member]), key: (row) => row[member]});

// A table whose columns sort by a click; `rows` have `op`, by which the filter of the page chooses. It shows `most` rows
// at most.
const table = (place, columns, rows, start, down, most = 2000) => {
  const body = make("tbody");
  const heads = columns.map((column, i) => {
    const head = make("th", {scope: "col", class: column.number ? "number" : ""});
    if (column.key) head.append(make("button", {type: "button", onclick: () => order(i, head)}, column.title));
    else head.append(column.title);
    return head;
  });
  const draw = () => {
    const shown = rows.filter((row) => is_shown(row.op));
    body.replaceChildren(...shown.slice(0, most).map((row) => make("tr", {}, ...columns.map((column, i) =>
      make(i === 0 ? "th" : "td", {class: column.number ? "number" : column.class ?? "", ...(i === 0 ? {scope: "row"} : {})},
        column.show(row))))));
    const note = shown.length === 0 ? "none" : shown.length > most ? `and ${number.format(shown.length - most)} more: the filter chooses` : "";
    if (note) body.append(make("tr", {}, make("td", {colspan: columns.length}, note)));
  };
  const order = (i, head, forced) => {
    const down = forced ?? (head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : Boolean(columns[i].number));
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = columns[i].key;
    rows.sort((a, b) => {
      const x = key(a), y = key(b);
      return (down ? -1 : 1) * (typeof x === "string" ? x.localeCompare(y, "en", {numeric: true}) : x - y);
    });
    draw();
  };
  at(place).append(make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body)));
  if (start === undefined) draw();
  else order(start, heads[start], down ?? Boolean(columns[start].number));
  return draw;
};

// The errors of an output's elements by their size in ulp.
const ulp_bar = (titles, sizes) => bar(titles.map((title, i) =>
  ({kind: `ulp${i}`, size: sizes[i], title: `${title} ulp: ${counted(sizes[i], "element")}, ${share(sizes[i] / sum(sizes))}`})));
const ulp_legend = (titles) => make("p", {class: "legend"}, ...titles.map((title, i) => make("span", {}, make("i", {class: `ulp${i}`}), title)));

// Entries that open, with their facts: [term, text, tag] each; those without a text are left out. An item may have a
// `picture`: a function that makes elements when the entry is opened. The first entry is open.
const list_of_details = (place, items, none) => {
  const draw = () => {
    const shown = items.filter((item) => is_shown(item.op));
    at(place).replaceChildren(...shown.slice(0, 1000).map((item) => {
      const pictures = make("div");
      const open = (event) => {
        if (event.target.open && item.picture && !pictures.hasChildNodes()) pictures.append(...item.picture());
      };
      return make("details", {ontoggle: open}, make("summary", {}, ...item.summary),
        make("dl", {}, ...item.facts.flatMap(([term, text, tag = "span"]) => text === "" || text === undefined ? [] :
          [make("dt", {}, term), make("dd", {}, make(tag, {}, text))])), pictures);
    }));
    const first = at(place).firstElementChild;
    if (first) first.open = true;
    if (items.length === 0) at(place).append(make("p", {class: "passed"}, none));
    else if (shown.length === 0) at(place).append(make("p", {}, "None of these operators."));
    if (shown.length > 1000) at(place).append(make("p", {}, `The first 1,000 of ${number.format(shown.length)}: the filter shows others.`));
  };
  draw();
  return draw;
};

const bar = (parts) => {
  const all = sum(parts.map((part) => part.size));
  const text = parts.filter((part) => part.size > 0).map((part) => part.title).join(", ");
  return make("div", {class: "bar", role: "img", "aria-label": text, title: text},
    ...parts.filter((part) => part.size > 0).map((part) => make("i", {class: part.kind, style: `width:${100 * part.size / all}%`})));
};
const time_bar = (part) => make("span", {class: "time", style: `width:${Math.max(0.5, 100 * part)}%`});

// A chart with logarithmic axes; `x` and `y` have `low`, `high`, `title` and `label` of a power of ten. Marks are placed
// by `place`.
const log_chart = (x, y, name, marks) => {
  const width = 1180, height = 420, left = 128, right = 24, top = 16, bottom = 52;
  const scale = (axis, from, to) => (value) =>
    from + (to - from) * (Math.log10(value) - Math.log10(axis.low)) / (Math.log10(axis.high) - Math.log10(axis.low));
  const place = {x: scale(x, left, width - right), y: scale(y, height - bottom, top)};
  const powers = (axis) => Array.from({length: 80}, (_, i) => 10 ** (i - 30)).filter((p) => p >= axis.low * 0.999 && p <= axis.high * 1.001)
    .filter((_, i, all) => i % Math.ceil(all.length / 9) === 0);
  return svg("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name},
    ...powers(x).flatMap((p) => [svg("line", {class: "axis", x1: place.x(p), x2: place.x(p), y1: top, y2: height - bottom}),
      svg("text", {x: place.x(p), y: height - bottom + 18, "text-anchor": "middle"}, x.label(p))]),
    ...powers(y).flatMap((p) => [svg("line", {class: "axis", x1: left, x2: width - right, y1: place.y(p), y2: place.y(p)}),
      svg("text", {x: left - 8, y: place.y(p) + 4, "text-anchor": "end"}, y.label(p))]),
    svg("text", {x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle", class: "name"}, x.title),
    svg("text", {class: "name", transform: `translate(14 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle"}, y.title),
    ...marks(place));
};
const dot = (x, y, kind, text, radius = 4) => svg("circle", {class: kind, cx: x, cy: y, r: radius}, svg("title", {}, text));

// The page shows one run at a time; #2 in its address chooses the second one.
let draws = [];
let shown;
const show = (index) => {
  const run = runs[index];
  at("title").textContent = run.title;
  at("heading").textContent = run.heading;
  at("environment").textContent = run.environment;
  at("command").textContent = run.command;
  at("main").replaceChildren(at(run.kind).content.cloneNode(true));
  at("main").querySelectorAll(".summary").forEach((place) => place.textContent = run.summary);
  const sections = [...at("main").querySelectorAll("section")];
  sections.forEach((section) => {
    const title = section.querySelector("h2");
    title.id = `${section.id}-title`;
    section.setAttribute("aria-labelledby", title.id);
  });
  at("links").replaceChildren(...sections.map((section) => make("a", {href: `#${section.id}`}, section.querySelector("h2").textContent)));
  [...at("runs").children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
  // The first section is seen before the others are built.
  draws = [];
  shown = run;
  const sections_to_build = pages[run.kind](run);
  const build_next = () => {
    if (shown !== run || sections_to_build.length === 0) return;
    draws.push(...sections_to_build.shift()());
    setTimeout(build_next);
  };
  build_next();
};
const start = () => {
  at("runs").hidden = runs.length === 1;
  at("runs").append(...runs.map((run, i) => make("button", {type: "button", class: "plain", onclick: () => show(i)}, run.label)));
  const wanted = Number(location.hash.slice(1));
  show(wanted >= 1 && wanted <= runs.length ? wanted - 1 : 0);
  at("filter").addEventListener("input", (event) => {
    filter = event.target.value.trim().toLowerCase();
    draws.forEach((draw) => draw());
  });
};
