// The page of diopi test.
pages.test = (data) => {
  const verdicts = data.verdicts;
  const verdict_bar = (counts) => bar(verdicts.map((v, i) => ({kind: v, size: counts[i], title: `${number.format(counts[i])} ${words(v)}`})));

  // The ids of a group: its prefix with each number of its ranges, or the prefix alone.
  const expanded = (prefix, ranges) => ranges === "" ? [prefix] : ranges.split(",").flatMap((range) => {
    const [first, last] = range.split("-").map(Number);
    return Array.from({length: (last ?? first) - first + 1}, (_, i) => prefix + (first + i));
  });

  const show_cases = (title, groups) => {
    const dialog = at("cases");
    const most = 500;
    const rows = groups.flatMap(([, dtype, verdict, , prefix, ranges]) =>
      expanded(data.prefixes[prefix], ranges).map((id) => [id, data.dtypes[dtype], verdict]));
    rows.sort((a, b) => (a[2] === "passed") - (b[2] === "passed"));
    at("cases-title").textContent = title;
    dialog.querySelector("div").replaceChildren(make("p", {class: "soft"},
      `${counted(rows.length, "case")}${rows.length > most ? `, the first ${most} of them` : ""}. A case runs again with: diopi test --case ID ${data.options}`),
    make("table", {}, make("tbody", {}, ...rows.slice(0, most).map(([id, dtype, verdict]) =>
      make("tr", {}, make("td", {}, make("code", {}, id)), make("td", {}, dtype), make("td", {class: verdict}, words(verdict)))))));
    dialog.showModal();
  };

  const overview = () => {
    tiles(verdicts.flatMap((v, i) => data.counts[i] || v === "passed" || v === "failed"
      ? [[number.format(data.counts[i]), words(v), data.counts[i] ? v : ""]] : []));
    at("all").append(verdict_bar(data.counts));
    const rows = data.families.map(([op, ...counts]) => ({op, counts, cases: sum(counts),
      failed: sum(counts.filter((_, i) => ["failed", "crashed", "timeout"].includes(verdicts[i])))}));
    return [table("families", [named("family", "op"), counts("cases", "cases"), counts("failed", "failed"),
      {title: "verdicts", class: "wide", show: (row) => verdict_bar(row.counts)}], rows, 2)];
  };

  const changes = () => {
    const diff = data.diff;
    if (!diff) {
      remove_section("changes");
      return [];
    }
    at("changes-summary").textContent = `${diff.summary}.`;
    at("changes-before").textContent = `A: ${diff.before.started}, ${diff.before.backend}. B: this run.`;
    const kinds = {broken: "broke", newly_failing: "new, fails", lost: "lost support", mended: "mended", gained: "gained support",
      other: "changed otherwise"};
    const colours = {broken: "failed", newly_failing: "failed", lost: "not_implemented", mended: "passed", gained: "passed"};
    const rows = Object.keys(kinds).flatMap((kind, rank) => diff[kind].map((change) => ({op: change.operator, kind, rank, ...change})));
    const tables = rows.length === 0 ? [] : [table("changes-table", [
      named("operator", "op"),
      {title: "change", show: (row) => make("b", {class: colours[row.kind] ?? ""}, kinds[row.kind]), key: (row) => row.rank},
      {title: "case", class: "place", show: (row) => make("code", {}, row.case), key: (row) => row.case},
      {title: "was", show: (row) => row.kind === "newly_failing" ? "" : words(row.before), key: (row) => row.before},
      {title: "is", show: (row) => words(row.after), key: (row) => row.after},
      {title: "reason", class: "wide", show: (row) => row.reason},
    ], rows, 1, false)];
    const accuracy = [...diff.less_accurate, ...diff.more_accurate]
      .map((change) => ({op: change.function, change: change.after - change.before, ...change}));
    if (accuracy.length > 0) {
      tables.push(table("changes-accuracy", [named("function", "op"), named("output", "output"),
        counts("share of the allowed error in A", "before", share), counts("in B", "after", share), counts("change", "change", share)],
      accuracy, 4));
    }
    const times = diff.times.filter((each) => each.verdict === "SLOWER" || each.verdict === "FASTER")
      .map((change) => ({op: change.function, ...change}));
    if (times.length > 0) {
      tables.push(table("changes-time", [named("function", "op"), counts("calls", "calls"), counts("time in A", "before_s", seconds),
        counts("in B", "after_s", seconds), counts("typical ratio", "ratio", (x) => Number(x).toFixed(3)),
        {title: "95% interval", show: (row) => row.interval.map((x) => Number(x).toFixed(3)).join(" to ")},
        {title: "verdict", show: (row) => speed(row.verdict), key: (row) => row.verdict}], times, 4));
    }
    return tables;
  };

  // Cells of the tensor by the share of their elements that is wrong: one path for each share.
  const picture = (rows) => {
    const shares = {};
    const size = Math.min(16, Math.max(6, 640 / rows[0].length));
    rows.forEach((row, y) => [...row].forEach((cell, x) => (shares[cell] ??= []).push(`M${x * size} ${y * size}h${size - 1}v${size - 1}h${1 - size}z`)));
    return svg("svg", {class: "picture", width: rows[0].length * size, height: rows.length * size, role: "img", "aria-label": "place of the mismatches"},
      ...Object.entries(shares).map(([cell, places]) => svg("path", {class: cell === "." ? "right" : "wrong", d: places.join(""),
        "fill-opacity": cell === "." ? 1 : cell === "#" ? 1 : 0.35 + 0.06 * Number(cell)})));
  };
  const pictures = (fault) => [
    ...(fault.picture ? [make("p", {class: "soft"}, "Where the mismatches lie: each line is a row of the last dim, or several; the darker, the more of a cell is wrong."),
      make("div", {class: "scroll"}, picture(fault.picture))] : []),
    ...(fault.ulp ? [make("p", {class: "soft"}, "All elements by their error in ulp:"), ulp_bar(data.ulp_bins, fault.ulp), ulp_legend(data.ulp_bins)] : []),
  ];

  const failures = () => [list_of_details("failure-list", data.faults.map((fault) => ({
    op: `${fault.case} ${fault.function}`,
    summary: [make("b", {class: fault.verdict}, words(fault.verdict)), `${fault.function} ${fault.step} ${fault.dtype}: `,
      make("span", {class: "soft"}, fault.reason)],
    facts: [["case", fault.case, "code"], ["reason", fault.reason], ["tensors", fault.tensors, "code"], ["mismatches", fault.mismatches],
      ["where", fault.where], ["worst element", fault.worst], ["error", fault.error], ["repeat", fault.repeat, "code"],
      ["bundle", fault.bundle, "code"]],
    picture: () => pictures(fault),
  })), "No case failed.")];

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
    return [table("matrix-table", [
      named("operator", "op"),
      ...data.aspects.map((title, i) => ({title, show: (row) => cell(row, i), key: (row) => rank[row.words[i]]})),
      {title: "dtypes", class: "wide", show: (row) => row.dtypes.map((d) => data.dtypes[d]).join(" ")},
    ], data.matrix.map(([op, dtypes, cells]) => ({op: data.operators[op], dtypes, words: cells.split(" ")})), 0)];
  };

  const accuracy = () => {
    const strip = (row) => svg("svg", {class: "strip", viewBox: "0 0 110 16", preserveAspectRatio: "none", role: "img",
      "aria-label": `largest share ${row.most}%`},
    ...[0, 50, 100].map((x) => svg("line", {class: "axis", x1: x, x2: x, y1: 0, y2: 16, "vector-effect": "non-scaling-stroke"})),
    ...row.bins.map(([share, count]) => {
      const height = Math.min(14, 4 + 3 * Math.log10(count));
      return svg("rect", {class: share > 100 ? "over" : share >= 90 ? "near" : "mark", x: Math.min(share, 108), width: 1,
        y: 8 - height / 2, height});
    }));
    return [table("accuracy-table", [named("function", "op"), counts("outputs", "outputs"),
      counts("largest", "most", (x) => x > 100 ? "over 100%" : `${x}%`),
      {title: "shares of the allowed error: 0, 50, 100%", class: "wide", show: strip},
    ], data.accuracy.map(([op, bins]) => ({op, bins, outputs: sum(bins.map((b) => b[1])), most: Math.max(...bins.map((b) => b[0]))})), 2)];
  };

  const times = () => {
    const longest = Math.max(...data.times.map((t) => t[2]), 1e-9);
    return [table("time-table", [named("function", "op"), counts("calls", "calls"), counts("sum", "sum", seconds),
      counts("longest", "most", seconds), {title: "", class: "wide", show: (row) => time_bar(row.sum / longest)},
    ], data.times.map(([op, calls, all, most]) => ({op, calls, sum: all, most})), 2)];
  };

  return [overview, changes, failures, matrix, accuracy, times];
};
