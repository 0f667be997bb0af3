// The page of diopi profile.
pages.profile = (data) => {
  const calls = data.calls.map((values) => Object.fromEntries(data.columns.map((column, i) => [column, values[i]])))
    .map((call) => ({...call, op: call.name}));
  const measured = calls.filter((call) => call.median_s !== null && call.median_s > 0);
  const total = sum(measured.map((call) => call.median_s));
  const place_of = (call) => call.case || call.layer;

  const overview = () => {
    const {roofs} = data;
    tiles([[number.format(measured.length), "calls"], [seconds(total), "sum of the medians"],
      ...(roofs.empty_call_s > 0 ? [[seconds(roofs.empty_call_s), "call on one element"]] : []),
      ...(calls.length > measured.length ? [[number.format(calls.length - measured.length), "not measured", "failed"]] : []),
      ...(data.base ? [[data.base.slower, "SLOWER", data.base.slower ? "failed" : ""], [data.base.faster, "FASTER", data.base.faster ? "passed" : ""],
        [data.base.same, "SAME"], [data.base.ambiguous, "AMBIGUOUS"]] : [])]);
    return [];
  };

  // A ratio with its interval on a logarithmic line from 1/4 to 4.
  const interval = (row) => {
    const place = (ratio) => 50 + 50 * Math.max(-1, Math.min(1, Math.log(ratio) / Math.log(4)));
    const kind = {SLOWER: "over", FASTER: "good"}[row.verdict] ?? "mark";
    const [low, high] = [place(row.low), row.high === null ? 100 : place(row.high)];
    return svg("svg", {class: "strip", viewBox: "0 0 100 16", preserveAspectRatio: "none", role: "img",
      "aria-label": `ratio ${row.ratio}, from ${row.low} to ${row.high ?? "infinity"}`},
    ...[0, 25, 50, 75, 100].map((x) => svg("line", {class: x === 50 ? "middle" : "axis", x1: x, x2: x, y1: 0, y2: 16, "vector-effect": "non-scaling-stroke"})),
    svg("rect", {class: kind, x: low, width: Math.max(0.3, high - low), y: 6, height: 4}),
    svg("rect", {class: kind, x: place(row.ratio) - 0.4, width: 0.8, y: 2, height: 12}));
  };
  const ratios = () => {
    if (!data.base) {
      remove_section("ratios");
      return [];
    }
    const mean = data.base.geometric_mean;
    at("ratios-summary").textContent = `Against ${data.base.name}: ${counted(data.base.compared, "call")}` +
      (mean ? `, geometric mean of the ratios ${mean.toFixed(3)}.` : ".");
    return [table("ratios-table", [named("operator", "op"),
      {title: "case or layer", class: "place", show: (row) => make("code", {}, place_of(row)), key: place_of},
      named("dtype", "dtype"), counts("here", "median_s", seconds), counts("there", "base_s", seconds),
      counts("ratio", "ratio", (x) => x.toFixed(3)), {title: "1/4, 1/2, 1, 2, 4", class: "wide", show: interval},
      {title: "verdict", show: (row) => speed(row.verdict), key: (row) => row.verdict},
    ], measured.filter((call) => call.ratio !== null && call.ratio !== undefined), 5)];
  };

  // A roof is the rate of copies times the intensity, up to the rate of products.
  const roofline = () => {
    const copies = data.roofs.copy.filter((copy) => copy.bytes_per_s > 0);
    const products = Object.entries(data.roofs.matmul_flops_per_s).filter(([, flops]) => flops > 0);
    const points = measured.filter((call) => call.flops > 0 && call.bytes > 0)
      .map((call) => ({call, x: call.flops / call.bytes, y: call.flops / call.median_s}));
    if (points.length === 0 || copies.length === 0 || products.length === 0) {
      remove_section("roofline");
      return [];
    }
    const memory = copies.at(-1), cache = copies.reduce((best, copy) => copy.bytes_per_s > best.bytes_per_s ? copy : best);
    const slopes = memory === cache ? [[memory, "copies"]] : [[memory, "copies in memory"], [cache, "copies in the cache"]];
    const highest = Math.max(...products.map(([, flops]) => flops));
    const x = {low: Math.min(0.1, ...points.map((p) => p.x)), high: Math.max(1000, ...points.map((p) => p.x)) * 1.5,
      title: "operations per byte that must move", label: (p) => number.format(p)};
    const y = {low: Math.max(highest * 1e-6, Math.min(...points.map((p) => p.y)) / 1.5), high: Math.max(highest, ...points.map((p) => p.y)) * 2, title: "operations per second",
      label: (p) => rate(p, "FLOP/s")};
    at("roofline-note").textContent = `${number.format(points.length)} of ${counted(measured.length, "call")} count operations; the others only ` +
      `move data, and the tables have their share of the roof. Lines are the best rates that this run measured: ` +
      `${slopes.map(([copy, name]) => `${name} ${rate(copy.bytes_per_s, "B/s")}`).join(", ")}, ` +
      `products ${products.map(([dtype, flops]) => `${dtype} ${rate(flops, "FLOP/s")}`).join(", ")}.`;
    const chart = () => log_chart(x, y, "roofline: operations per second by operations per byte", (place) => [
      ...slopes.map(([copy, name], i) => {
        const from = Math.max(x.low, y.low / copy.bytes_per_s), to = Math.min(highest / copy.bytes_per_s, x.high);
        return svg("line", {class: i ? "roof soft-roof" : "roof", x1: place.x(from), y1: place.y(from * copy.bytes_per_s), x2: place.x(to),
          y2: place.y(to * copy.bytes_per_s)}, svg("title", {}, `${name}: ${rate(copy.bytes_per_s, "B/s")}`));
      }),
      ...products.flatMap(([dtype, flops]) => [
        svg("line", {class: "roof", x1: place.x(Math.max(x.low, flops / cache.bytes_per_s)), x2: place.x(x.high), y1: place.y(flops), y2: place.y(flops)}),
        svg("text", {x: place.x(x.high) - 4, y: place.y(flops) - 6, "text-anchor": "end"}, `${dtype} ${rate(flops, "FLOP/s")}`)]),
      ...points.filter(({call}) => is_shown(call.op)).map(({call, x, y: height}) => dot(place.x(x), place.y(Math.max(height, y.low)), "dot",
        `${call.name} ${place_of(call)}\n${call.dtype} ${call.shapes}\n${seconds(call.median_s)}, ${rate(height, "FLOP/s")}, ${figure(x)} operations per byte`,
        Math.min(11, 3 + 30 * Math.sqrt(call.median_s / total)))),
    ]);
    const draw = () => at("roofline-chart").replaceChildren(chart());
    draw();
    return [draw];
  };

  // Calls of a capture one after the other, under the names of their layers.
  const timeline = () => {
    const steps = calls.filter((call) => call.median_s > 0 && call.layer !== "");
    if (steps.length === 0) {
      remove_section("timeline");
      return [];
    }
    const deepest = Math.min(6, Math.max(...steps.map((call) => call.layer.split(".").length)));
    const width = 1180, lane = 22, height = (deepest + 1) * lane + 24;
    const all = sum(calls.map((call) => call.median_s ?? 0));
    let now = 0;
    const spans = calls.filter((call) => call.median_s > 0).map((call) => {
      const span = {call, from: now / all * width, to: (now + call.median_s) / all * width};
      now += call.median_s;
      return span;
    });
    // Neighbours whose layers begin with the same names share a box; a pass back is a layer's second box.
    const boxes = (depth) => spans.reduce((list, span) => {
      const names = span.call.layer.split(".");
      const name = names.length > depth ? names.slice(0, depth + 1).join(".") : "";
      const last = list.at(-1);
      if (last && last.name === name && last.phase === span.call.phase) last.to = span.to;
      else list.push({name, phase: span.call.phase, from: span.from, to: span.to});
      return list;
    }, []).filter((box) => box.name !== "");
    const box = (y, {from, to}, kind, text, label) => svg("g", {}, svg("title", {}, text),
      svg("rect", {class: kind, x: from, y, width: Math.max(0.4, to - from - 0.6), height: lane - 3}),
      ...(to - from > 8 * label.length + 6 ? [svg("text", {class: kind.startsWith("call") ? "inside" : "", x: (from + to) / 2, y: y + 14,
        "text-anchor": "middle"}, label)] : []));
    const chart = () => svg("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "timeline of one step"},
      ...Array.from({length: deepest}, (_, depth) => boxes(depth).map((each) =>
        box(depth * lane, each, `layer ${each.phase}`, `${each.name} ${each.phase}: ${seconds((each.to - each.from) / width * all)}`,
          each.name.split(".").at(-1)))).flat(),
      ...spans.map((span) => box(deepest * lane, span, is_shown(span.call.op) ? "call" : "call other",
        `${span.call.name} ${span.call.layer} ${span.call.phase}: ${seconds(span.call.median_s)}`, span.call.name)),
      svg("text", {x: 0, y: height - 6}, "0"), svg("text", {x: width, y: height - 6, "text-anchor": "end"}, seconds(all)));
    const draw = () => at("timeline-chart").replaceChildren(chart());
    draw();
    return [draw];
  };

  const operators = () => {
    const groups = new Map();
    measured.forEach((call) => groups.get(call.name)?.push(call) ?? groups.set(call.name, [call]));
    const rows = [...groups].map(([op, group]) => {
      const time = sum(group.map((call) => call.median_s)), roofed = group.filter((call) => call.roof_s > 0);
      return {op, calls: group.length, time, part: time / total,
        roof: sum(roofed.map((call) => call.roof_s)) / Math.max(1e-30, sum(roofed.map((call) => call.median_s)))};
    });
    return [table("operators-table", [named("operator", "op"), counts("calls", "calls"), counts("time", "time", seconds),
      counts("share of the time", "part", share), counts("of the roof", "roof", (x) => x > 0 ? share(x) : ""),
      {title: "", class: "wide", show: (row) => time_bar(row.part)}], rows, 2)];
  };

  const list = () => [table("calls-table", [named("operator", "op"),
    {title: "case or layer", class: "place", show: (row) => make("code", {}, place_of(row)), key: place_of}, named("phase", "phase"), named("dtype", "dtype"),
    {title: "shapes", class: "wide", show: (row) => row.error || (row.shapes.length < 120 ? row.shapes : make("span", {title: row.shapes}, `${row.shapes.slice(0, 110)} ...`))},
    {title: "median", number: true, show: (row) => row.median_s > 0 ? seconds(row.median_s) : "", key: (row) => row.median_s ?? 0},
    {title: "95% interval", number: true, show: (row) => row.median_s > 0 ? `${seconds(row.low_s)} to ${seconds(row.high_s)}` : ""},
    {title: "of the roof", number: true, show: (row) => row.roof_s > 0 ? share(row.roof_s / row.median_s) : "",
      key: (row) => row.roof_s > 0 ? row.roof_s / row.median_s : 0},
  ], calls, 5, undefined, 500)];

  return [overview, ratios, roofline, timeline, operators, list];
};
