// The pages of diopi fallback-sim and of its --bisect.
pages.fallback = (data) => {
  const [device, to] = data.sides;
  const rows = data.fallback.map((row) => ({...row, op: row.overload, copies: row.in.copies + row.out.copies,
    bytes: row.in.bytes + row.out.bytes, copying: row.in.seconds + row.out.seconds,
    cost: row.in.seconds + row.out.seconds + row.other_s - row.device_s}));

  const overview = () => {
    const beyond = data.changed.filter((change) => !change.within).length;
    const is_forced = rows.some((row) => row.why === "forced");
    tiles([[number.format(sum(rows.map((row) => row.calls))), "calls fall back"], [seconds(data.step_s), `step on ${device}`],
      ...(is_forced ? [[seconds(data.step_with_fallback_s), "with the fallback"], [`${(data.step_with_fallback_s / data.step_s).toFixed(2)} ×`, "as long"]] : []),
      [number.format(data.changed.length), `of ${counted(data.results, "result")} change`],
      [number.format(beyond), "beyond the tolerance", beyond ? "failed" : ""]]);
    const missing = Object.entries(data.missing);
    at("missing").textContent = missing.length ? `Not implemented anywhere: ${missing.map(([name, calls]) => `${name} (${counted(calls, "call")})`).join(", ")}.` : "";
    return [];
  };

  const costs = () => {
    const longest = Math.max(...rows.map((row) => row.copying + row.other_s), 1e-12);
    return [table("costs-table", [named("operator", "op"), named("why", "why"), counts("calls", "calls"), counts("copies", "copies"),
      counts("bytes", "bytes", (x) => rate(x, "B")), counts("copying", "copying", seconds), counts(`on ${device}`, "device_s", (x) => x > 0 ? seconds(x) : ""),
      counts(`on ${to}`, "other_s", seconds), counts("costs", "cost", (x) => x >= 0 ? seconds(x) : `-${seconds(-x)}`),
      {title: `copying, then on ${to}`, class: "wide", show: (row) => make("div", {style: `width:${Math.max(1, 100 * (row.copying + row.other_s) / longest)}%`},
        bar([{kind: "copying", size: row.copying, title: `copying ${seconds(row.copying)}`}, {kind: "mark", size: row.other_s, title: `${to} ${seconds(row.other_s)}`}]))},
    ], rows, 8)];
  };

  const changed = () => {
    if (data.changed.length === 0) {
      remove_section("changed");
      return [];
    }
    return [table("changed-table", [named("result", "op"), counts("largest difference", "max_abs", figure), counts("relative", "max_rel", figure),
      {title: "tolerance", show: (row) => make("b", {class: row.within ? "passed" : "failed"}, row.within ? "within" : "beyond"), key: (row) => Number(row.within)}],
    data.changed.map((change) => ({...change, op: change.tensor})), 2)];
  };

  return [overview, costs, changed];
};

pages.bisect = (data) => {
  const overview = () => {
    at("reason").textContent = data.reason ? `Without fallback: ${data.reason}${data.flaky ? " (not every time)" : ""}` : "";
    return [];
  };

  const blamed = () => [table("blamed-table", [named("function", "op"), {title: "operators", show: (row) => row.overloads.join(", ")}, counts("calls", "calls")],
    data.functions.map((row) => ({...row, op: row.function})), 0)];

  const blamed_calls = () => {
    if (data.calls.length === 0) {
      remove_section("blamed-calls");
      return [];
    }
    return [table("blamed-calls-table", [named("function", "op"), counts("call", "call"), named("operator", "overload"), named("layer", "layer"),
      named("source", "source", {class: "wide"})], data.calls.map((row) => ({...row, op: row.function})), 1, false)];
  };

  return [overview, blamed, blamed_calls];
};
