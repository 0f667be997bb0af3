"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const verdicts = data.verdicts;
  const words = (verdict) => verdict.replace("_", " ");
  const number = new Intl.NumberFormat("en");
  let filter = "";

  // Text is only ever set as text: names of cases and messages cannot become markup.
  const make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === "class") element.className = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const counted = (count, noun) => `${number.format(count)} ${noun}${count === 1 ? "" : "s"}`;
  const seconds = (s) => s >= 1 ? `${s.toFixed(2)} s` : s >= 1e-3 ? `${(s * 1e3).toFixed(2)} ms` : `${(s * 1e6).toFixed(1)} µs`;
  const sum = (list) => list.reduce((a, b) => a + b, 0);

  const bar = (counts) => {
    const all = sum(counts);
    const text = verdicts.map((v, i) => counts[i] ? `${counts[i]} ${words(v)}` : "").filter(Boolean).join(", ");
    return make("div", {class: "bar", role: "img", "aria-label": text, title: text},
      ...verdicts.flatMap((v, i) => counts[i] ? [make("i", {class: v, style: `width:${100 * counts[i] / all}%`})] : []));
  };

  // A table whose columns sort by a click; `rows` have `op`, by which the filter of the page chooses.
  const table = (place, columns, rows, start, down) => {
    const body = make("tbody");
    const heads = columns.map((column, i) => {
      const head = make("th", {scope: "col", class: column.number ? "number" : ""});
      if (column.key) head.append(make("button", {type: "button", onclick: () => order(i, head)}, column.title));
      else head.append(column.title);
      return head;
    });
    const draw = () => {
      const shown = rows.filter((row) => row.op.toLowerCase().includes(filter));
      body.replaceChildren(...shown.map((row) => make("tr", {}, ...columns.map((column, i) =>
        make(i === 0 ? "th" : "td", {class: column.number ? "number" : column.class ?? "", ...(i === 0 ? {scope: "row"} : {})},
          column.show(row))))));
      if (shown.length === 0) body.append(make("tr", {}, make("td", {colspan: columns.length}, "none")));
    };
    const order = (i, head, forced) => {
      const down = forced ?? (head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : columns[i].number);
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = columns[i].key;
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        return (down ? -1 : 1) * (typeof x === "string" ? x.localeCompare(y, "en", {numeric: true}) : x - y);
      });
      draw();
    };
    document.getElementById(place).append(make("div", {class: "scroll"},
      make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body)));
    order(start, heads[start], down ?? columns[start].number);
    return draw;
  };

  // The ids of a group: its prefix with each number of its ranges, or the prefix alone.
  const expanded = (prefix, ranges) => ranges === "" ? [prefix] : ranges.split(",").flatMap((range) => {
    const [first, last] = range.split("-").map(Number);
    return Array.from({length: (last ?? first) - first + 1}, (_, i) => prefix + (first + i));
  });

  const dialog = document.getElementById("cases");
  const show_cases = (title, groups) => {
    const list = dialog.querySelector("div");
    dialog.querySelector("h2").textContent = title;
    const most = 500;
    const rows = groups.flatMap(([, dtype, verdict, , prefix, ranges]) =>
      expanded(data.prefixes[prefix], ranges).map((id) => [id, data.dtypes[dtype], verdict]));
    rows.sort((a, b) => (a[2] === "passed") - (b[2] === "passed"));
    list.replaceChildren(make("p", {class: "soft"},
      `${counted(rows.length, "case")}${rows.length > most ? `, the first ${most} of them` : ""}. A case runs again with: diopi test --case ID ${data.run.options}`),
    make("table", {}, make("tbody", {}, ...rows.slice(0, most).map(([id, dtype, verdict]) =>
      make("tr", {}, make("td", {}, make("code", {}, id)), make("td", {}, dtype),
        make("td", {class: verdict}, words(verdict)))))));
    dialog.showModal();
  };

  const overview = () => {
    document.getElementById("tiles").append(...verdicts.flatMap((v, i) => data.counts[i] || v === "passed" || v === "failed"
      ? [make("li", {}, make("b", {class: data.counts[i] ? v : ""}, number.format(data.counts[i])), words(v))] : []));
    document.getElementById("all").append(bar(data.counts));
    const failed = (row) => sum(row.counts.filter((_, i) => ["failed", "crashed", "timeout"].includes(verdicts[i])));
    return table("families", [
      {title: "family", show: (row) => row.op, key: (row) => row.op},
      {title: "cases", number: true, show: (row) => number.format(sum(row.counts)), key: (row) => sum(row.counts)},
      {title: "failed", number: true, show: (row) => number.format(failed(row)), key: failed},
      {title: "verdicts", class: "wide", show: (row) => bar(row.counts)},
    ], data.families.map(([op, ...counts]) => ({op, counts})), 2);
  };

  const share = (x) => `${(100 * x).toFixed(1)}%`;
  const changes = () => {
    const diff = data.diff;
    if (!diff) return [];
    document.querySelectorAll("#changes, a[href='#changes']").forEach((each) => each.hidden = false);
    document.getElementById("changes-summary").textContent = `${diff.summary}.`;
    document.getElementById("changes-before").textContent =
      `A: ${diff.before.started}, ${diff.before.backend}. B: this run.`;
    const kinds = {broken: "broke", newly_failing: "new, fails", lost: "lost support", mended: "mended", gained: "gained support",
      other: "changed otherwise"};
    const colours = {broken: "failed", newly_failing: "failed", lost: "not_implemented", mended: "passed", gained: "passed"};
    const rows = Object.keys(kinds).flatMap((kind, rank) => diff[kind].map((change) => ({op: change.operator, kind, rank, ...change})));
    const draws = rows.length === 0 ? [] : [table("changes-table", [
      {title: "operator", show: (row) => row.op, key: (row) => row.op},
      {title: "change", show: (row) => make("b", {class: colours[row.kind] ?? ""}, kinds[row.kind]), key: (row) => row.rank},
      {title: "case", show: (row) => make("code", {}, row.case), key: (row) => row.case},
      {title: "was", show: (row) => row.kind === "newly_failing" ? "" : words(row.before), key: (row) => row.before},
      {title: "is", show: (row) => words(row.after), key: (row) => row.after},
      {title: "reason", class: "wide", show: (row) => row.reason},
    ], rows, 1, false)];
    const accuracy = [...diff.less_accurate, ...diff.more_accurate].map((change) => ({op: change.function, ...change}));
    if (accuracy.length > 0) draws.push(table("changes-accuracy", [
      {title: "function", show: (row) => row.op, key: (row) => row.op},
      {title: "output", show: (row) => row.output, key: (row) => row.output},
      {title: "share of the allowed error in A", number: true, show: (row) => share(row.before), key: (row) => row.before},
      {title: "in B", number: true, show: (row) => share(row.after), key: (row) => row.after},
      {title: "change", number: true, show: (row) => share(row.after - row.before), key: (row) => row.after - row.before},
    ], accuracy, 4));
    const times = diff.times.filter((each) => each.verdict === "SLOWER" || each.verdict === "FASTER")
      .map((change) => ({op: change.function, ...change}));
    if (times.length > 0) draws.push(table("changes-time", [
      {title: "function", show: (row) => row.op, key: (row) => row.op},
      {title: "calls", number: true, show: (row) => number.format(row.calls), key: (row) => row.calls},
      {title: "time in A", number: true, show: (row) => seconds(row.before_s), key: (row) => row.before_s},
      {title: "in B", number: true, show: (row) => seconds(row.after_s), key: (row) => row.after_s},
      {title: "typical ratio", number: true, show: (row) => Number(row.ratio).toFixed(3), key: (row) => Number(row.ratio)},
      {title: "95% interval", show: (row) => row.interval.map((x) => Number(x).toFixed(3)).join(" to ")},
      {title: "verdict", show: (row) => make("b", {class: row.verdict === "SLOWER" ? "failed" : "passed"}, row.verdict),
       key: (row) => row.verdict},
    ], times, 4));
    return draws;
  };

  const failures = () => {
    const place = document.getElementById("failure-list");
    const entry = (term, text, tag = "span") => text === "" || text === undefined ? [] :
      [make("dt", {}, term), make("dd", {}, make(tag, {}, text))];
    const draw = () => {
      const shown = data.faults.filter((fault) => `${fault.case} ${fault.function}`.toLowerCase().includes(filter));
      place.replaceChildren(...shown.slice(0, 1000).map((fault) => make("details", {},
        make("summary", {}, make("b", {class: fault.verdict}, words(fault.verdict)), `${fault.function} ${fault.step} ${fault.dtype}: `,
          make("span", {class: "soft"}, fault.reason)),
        make("dl", {}, ...entry("case", fault.case, "code"), ...entry("reason", fault.reason), ...entry("tensors", fault.tensors, "code"),
          ...entry("mismatches", fault.mismatches), ...entry("where", fault.where), ...entry("worst element", fault.worst),
          ...entry("error", fault.error), ...entry("repeat", fault.repeat, "code"), ...entry("bundle", fault.bundle, "code")))));
      if (data.faults.length === 0) place.append(make("p", {class: "passed"}, "No case failed."));
      else if (shown.length === 0) place.append(make("p", {}, "No failure of these operators."));
      if (shown.length > 1000) place.append(make("p", {}, `The first 1,000 of ${counted(shown.length, "failure")}: the filter shows others.`));
    };
    draw();
    return draw;
  };

  const matrix = () => {
    const cell = (row, aspect) => {
      const word = row.words[aspect];
      if (word === ".") return make("span", {class: "soft", "aria-label": "no case"}, "·");
      const title = `${row.op}, ${data.aspects[aspect]}: ${row.dtypes.map((d) => data.dtypes[d]).join(" ")}`;
      return make("button", {class: `cell ${word}`, type: "button", title, onclick: () => show_cases(title,
        data.groups.filter(([op, dtype, , mask]) => data.operators[op] === row.op && row.dtypes.includes(dtype) && mask >> aspect & 1))},
      word);
    };
    const rank = {".": 0, yes: 1, skip: 2, part: 3, no: 4, FAIL: 5};
    return table("matrix-table", [
      {title: "operator", show: (row) => row.op, key: (row) => row.op},
      ...data.aspects.map((title, i) => ({title, show: (row) => cell(row, i), key: (row) => rank[row.words[i]]})),
      {title: "dtypes", class: "wide", show: (row) => row.dtypes.map((d) => data.dtypes[d]).join(" ")},
    ], data.matrix.map(([op, dtypes, cells]) => ({op: data.operators[op], dtypes, words: cells.split(" ")})), 0);
  };

  const svg = (tag, properties, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const accuracy = () => {
    const strip = (row) => svg("svg", {viewBox: "0 0 110 16", preserveAspectRatio: "none", role: "img",
      "aria-label": `largest share ${row.most}%`},
    ...[0, 50, 100].map((x) => svg("line", {class: "axis", x1: x, x2: x, y1: 0, y2: 16, "vector-effect": "non-scaling-stroke"})),
    ...row.bins.map(([share, count]) => {
      const height = Math.min(14, 4 + 3 * Math.log10(count));
      return svg("rect", {class: share > 100 ? "over" : share >= 90 ? "near" : "mark", x: Math.min(share, 108), width: 1,
        y: 8 - height / 2, height});
    }));
    return table("accuracy-table", [
      {title: "function", show: (row) => row.op, key: (row) => row.op},
      {title: "outputs", number: true, show: (row) => number.format(row.outputs), key: (row) => row.outputs},
      {title: "largest", number: true, show: (row) => row.most > 100 ? "over 100%" : `${row.most}%`, key: (row) => row.most},
      {title: "shares of the allowed error: 0, 50, 100%", class: "wide", show: strip},
    ], data.accuracy.map(([op, bins]) => ({op, bins, outputs: sum(bins.map((b) => b[1])), most: Math.max(...bins.map((b) => b[0]))})), 2);
  };

  const times = () => {
    const longest = Math.max(...data.times.map((t) => t[2]), 1e-9);
    return table("time-table", [
      {title: "function", show: (row) => row.op, key: (row) => row.op},
      {title: "calls", number: true, show: (row) => number.format(row.calls), key: (row) => row.calls},
      {title: "sum", number: true, show: (row) => seconds(row.sum), key: (row) => row.sum},
      {title: "longest", number: true, show: (row) => seconds(row.most), key: (row) => row.most},
      {title: "", class: "wide", show: (row) => make("span", {class: "time", style: `width:${Math.max(0.5, 100 * row.sum / longest)}%`})},
    ], data.times.map(([op, calls, all, most]) => ({op, calls, sum: all, most})), 2);
  };

  const draws = [overview(), ...changes(), failures(), matrix(), accuracy(), times()];
  document.getElementById("filter").addEventListener("input", (event) => {
    filter = event.target.value.trim().toLowerCase();
    draws.slice(1).forEach((draw) => draw());
  });
})();
