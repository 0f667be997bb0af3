#include "cases/plan.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "cases/bind.hpp"
#include "core/suggest.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace {

/// Whether tensors that are one object agree in their specs.
Status check_same(const Case& c) {
    for (size_t i = 0; i < c.tensors.size(); ++i) {
        const CaseTensor& tensor = c.tensors[i];
        if (tensor.same_as.empty() || tensor.absent) continue;
        const auto before = std::span(c.tensors).first(i);
        const auto other = std::ranges::find(before, tensor.same_as, &CaseTensor::name);
        if (other == before.end()) {
            return bad_input(tensor.name + " is the same as '" + tensor.same_as + "', which is no tensor before it");
        }
        if (other->absent || other->specs != tensor.specs || other->sparse_csr || tensor.sparse_csr) {
            return bad_input(tensor.name + " is the same as " + tensor.same_as +
                             ": then their shapes, dtypes and strides must agree, and they are dense");
        }
    }
    return {};
}

}  // namespace

bool runs_in_place(const Case& c) {
    const auto rows = rows_for(c);
    if (!rows.ok() || rows->inplace == nullptr || rows->inplace->rule == ShapeRule::unknown) return false;
    auto call = bind_call(*rows->inplace, c, shape_tensors(c));
    return call.ok() && infer(*call, hints_of(c)).ok();
}

Status plan(const Case& c) {
    if (Status s = check_same(c); !s.ok()) return s;
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

Result<std::vector<OutputSpec>> planned_outputs(const Case& c) {
    auto rows = rows_for(c);
    if (!rows.ok()) return rows.error();
    auto call = bind_call(rows->forward != nullptr ? *rows->forward : *rows->inplace, c, shape_tensors(c));
    if (!call.ok()) return call.error();
    return outputs_of(*call, c);
}

Error unknown_operator(const std::string& op) {
    std::vector<std::string> known;
    for (const Row& row : rows()) known.emplace_back(row.op);
    return bad_input("the standard has no operator '" + op + "'" + did_you_mean(op, known));
}

}  // namespace diopi
