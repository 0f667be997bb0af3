#include "cases/plan.hpp"

#include <vector>

#include "cases/bind.hpp"
#include "core/suggest.hpp"
#include "schema/schema.hpp"

namespace diopi {

Status plan(const Case& c) {
    auto rows = rows_for(c);
    if (!rows.ok()) return rows.error().code == Errc::kNotImplemented ? Status() : rows.status();
    if (c.backward && rows->backward != nullptr && rows->saving != nullptr) {
        auto gradients = incoming_gradients(*rows->backward, *rows->saving, c);
        if (!gradients.ok()) return gradients.status();
    }
    const Row& row = rows->forward != nullptr ? *rows->forward : *rows->inplace;
    if (row.rule == ShapeRule::unknown) return {};
    auto call = bind_call(row, c, shape_tensors(c));
    if (!call.ok()) return call.error();
    return infer(*call, hints_of(c)).status();
}

Error unknown_operator(const std::string& op) {
    std::vector<std::string> known;
    for (const Row& row : rows()) known.emplace_back(row.op);
    return bad_input("the standard has no operator '" + op + "'" + did_you_mean(op, known));
}

}  // namespace diopi
