#include "cases/plan.hpp"

#include "cases/bind.hpp"

namespace diopi {

Status plan(const Case& c) {
    auto rows = rows_for(c);
    if (!rows.ok()) return rows.error().code == Errc::kNotImplemented ? Status() : rows.status();
    const Row& row = rows->forward != nullptr ? *rows->forward : *rows->inplace;
    if (row.rule == ShapeRule::unknown) return {};
    auto call = bind_call(row, c, shape_tensors(c));
    if (!call.ok()) return call.error();
    return infer(*call, hints_of(c)).status();
}

}  // namespace diopi
