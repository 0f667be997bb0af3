// The page of diopi compare.
pages.compare = (data) => {
  const [one, other] = data.sides;
  const overview = () => {
    const tensors = sum(data.operators.map((row) => row.tensors)), different = sum(data.operators.map((row) => row.different));
    const alone = data.differences.filter((row) => row.alone).length, skipped = sum(data.skipped.map((row) => row.calls));
    tiles([[number.format(tensors), "tensors"], [number.format(different), "differ", different ? "failed" : ""],
      ...(alone ? [[number.format(alone), "calls in one capture only", "failed"]] : []),
      ...(skipped ? [[number.format(skipped), "calls not compared", "not_implemented"]] : [])]);
    at("skipped").append(...data.skipped.map((row) =>
      make("p", {}, `Not compared, ${row.reason}: ${counted(row.calls, "call")}, the first ${row.first}: ${row.names}`)));
    return [];
  };

  const differences = () => [list_of_details("difference-list", data.differences.map((row) => ({
    op: `${row.op} ${row.name} ${row.layer}`,
    summary: [make("b", {class: "failed"}, row.alone ? "only in one" : "differs"), `${row.where}, ${row.name} ${row.layer}: `,
      make("span", {class: "soft"}, row.note)],
    facts: [["call", row.where], ["layer", row.layer], ["tensor", row.tensor, "code"],
      ...(row.alone ? [] : [["largest difference", figure(row.max_abs)], ["largest relative", figure(row.max_rel)], ["allowed", row.allowed],
        ["cosine similarity", row.cosine === null ? "" : String(row.cosine)]]),
      ["what", row.note], ...row.inputs.map((text) => ["input", text, "code"]), ...row.outputs.map((text) => ["output", text, "code"])],
  })), "No tensor differs.")];

  const course = () => {
    const points = data.course.map(([where, name, layer, distance, max_abs, differs], i) => ({op: `${name} ${layer}`, where, differs, x: i + 1,
      angle: distance === null ? 0 : Math.sqrt(2 * Math.max(0, Number(distance))), text: `${where}, ${name} ${layer}\nlargest difference ${figure(max_abs)}`}));
    if (points.length === 0) {
      remove_section("course");
      return [];
    }
    const width = 1180, height = 380, left = 84, right = 20, top = 14, bottom = 44;
    const place_x = (x) => left + (width - left - right) * x / (points.length + 1);
    // From 1e-9, which stands for equal tensors, to 10.
    const place_y = (angle) => height - bottom - (height - top - bottom) * (Math.log10(Math.min(10, Math.max(1e-9, angle))) + 9) / 10;
    const chart = () => svg("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "error of each tensor in the order of the calls"},
      ...[-9, -7, -5, -3, -1, 1].flatMap((power) => [
        svg("line", {class: "axis", x1: left, x2: width - right, y1: place_y(10 ** power), y2: place_y(10 ** power)}),
        svg("text", {x: left - 8, y: place_y(10 ** power) + 4, "text-anchor": "end"}, power === -9 ? "equal" : number.format(10 ** power) === "0" ? `1e${power}` : number.format(10 ** power))]),
      svg("text", {x: left, y: height - 24}, points[0].where), svg("text", {x: width - right, y: height - 24, "text-anchor": "end"}, points.at(-1).where),
      svg("text", {x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle", class: "name"}, "tensors in the order of their calls"),
      ...points.filter((point) => is_shown(point.op)).sort((a, b) => a.differs - b.differs)
        .map((point) => dot(place_x(point.x), place_y(point.angle), point.differs ? "dot over" : "dot", point.text, point.differs ? 5 : 2.5)));
    const draw = () => at("course-chart").replaceChildren(chart());
    draw();
    return [draw];
  };

  const errors = () => {
    const rows = data.operators.filter((row) => row.ulp);
    if (rows.length === 0) {
      remove_section("errors");
      return [];
    }
    at("errors-legend").append(ulp_legend(data.ulp_bins));
    const bins = (member) => (row) => ulp_bar(data.ulp_bins, row[member]);
    return [table("errors-table", [named("operator", "op"), named("closer to exact", "closer"),
      {title: one, class: "wide", show: bins("ulp")}, {title: other, class: "wide", show: bins("other_ulp")}], rows, 0)];
  };

  const operators = () => [table("operators-table", [named("operator", "op"), counts("calls", "calls"), counts("tensors", "tensors"),
    {title: "differ", number: true, show: (row) => make("span", {class: row.different ? "failed" : ""}, number.format(row.different)), key: (row) => row.different},
    {title: "smallest cosine", number: true, show: (row) => row.cosine === null ? "" : Number(row.cosine).toFixed(6), key: (row) => -Number(row.cosine ?? 2)},
    counts("largest difference", "max_abs", figure), {title: "relative", number: true, show: (row) => figure(row.max_rel), key: (row) => Number(row.max_rel ?? 0)},
  ], data.operators, 3)];

  return [overview, differences, course, errors, operators];
};
