#include "intercept/places.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "check/oracle.hpp"
#include "core/convert.hpp"
#include "intercept/distinct.hpp"
#include "intercept/element_order.hpp"
#include "intercept/factors_law.hpp"

namespace diopi {

namespace {

/// Whether a flag of the call is set; flags may be given by pointers that are null.
bool is_set(const Call& call, std::string_view arg) {
    const auto* flag = call.has(arg) ? std::get_if<bool>(&call[arg]) : nullptr;
    return flag != nullptr && *flag;
}

bool keeps_order(const Call& call) { return is_set(call, "stable") || is_set(call, "pStable"); }
bool has_no_order(const Call& call) { return call.has("sorted") && !is_set(call, "sorted"); }

/// The output that holds places; -1 if there is none.
int places_of(const Call& call) {
    const auto args = call.row->args();
    const auto found = std::ranges::find_if(args, [](const Arg& arg) { return arg.place_in >= 0; });
    return found == args.end() ? -1 : static_cast<int>(found - args.begin());
}

/// A tensor as (outer, n, inner), with n along the dim of the call.
struct Rows {
    int64_t outer = 1, n = 1, inner = 1;

    [[nodiscard]] int64_t at(int64_t row, int64_t k) const { return (row / inner * n + k) * inner + row % inner; }
    [[nodiscard]] int64_t count() const { return outer * inner; }
};

/// The rows of the input; a single one where the call names no dim.
Rows input_rows(const Call& call, const Tensor& input) {
    const auto* named = call.has("dim") ? std::get_if<int64_t>(&call["dim"]) : nullptr;
    const bool is_ordered = call.row->rule == ShapeRule::ordered;
    if ((named == nullptr && !is_ordered) || input.shape.empty()) return {1, input.numel(), 1};
    const auto dim = static_cast<size_t>(*wrap_dim(named == nullptr ? -1 : *named, input.rank()));
    const ShapeView shape = input.shape;
    return {numel(shape.first(dim)), shape[dim], numel(shape.subspan(dim + 1))};
}

/// The rows of a result, which has fewer elements along the dim, or none of it.
Rows result_rows(const Rows& input, const Tensor& result) {
    return {input.outer, result.numel() / std::max<int64_t>(input.count(), 1), input.inner};
}

/// The tensor with sorted rows; before(row, a, b) tells whether element a of a row comes before b.
template <class Before>
Result<TensorPtr> sorted_rows(const Tensor& tensor, const Rows& rows, const Before& before) {
    const Tensor dense = gathered(tensor);
    auto made = make_tensor(cpu_device(), {tensor.shape, tensor.dtype, {}});
    if (!made.ok()) return made;
    const size_t size = size_of(tensor.dtype);
    std::vector<int64_t> order(static_cast<size_t>(rows.n));
    for (int64_t row = 0; row < rows.count(); ++row) {
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return before(row, a, b); });
        for (int64_t k = 0; k < rows.n; ++k) {
            const int64_t at = rows.at(row, order[static_cast<size_t>(k)]);
            const char* from = dense.data_as<char>() + static_cast<size_t>(at) * size;
            std::copy_n(from, size, (*made)->data_as<char>() + static_cast<size_t>(rows.at(row, k)) * size);
        }
    }
    return made;
}

/// Values in rising order.
Result<TensorPtr> sorted_values(const Tensor& values, const Rows& rows) {
    const Elements elements(values);
    return sorted_rows(values, rows, [&](int64_t row, int64_t a, int64_t b) {
        return elements.before(rows.at(row, a), elements, rows.at(row, b));
    });
}

/// Places by the elements that they name, those outside of the input last.
Result<TensorPtr> sorted_places(const Tensor& places, const Rows& rows, const Elements& x, const Rows& input) {
    auto wide = in_int64(places);
    if (!wide.ok()) return wide;
    const auto* at = (*wide)->data_as<int64_t>();
    return sorted_rows(**wide, rows, [&](int64_t row, int64_t a, int64_t b) {
        const int64_t p = at[rows.at(row, a)], q = at[rows.at(row, b)];
        const bool has_p = p >= 0 && p < input.n, has_q = q >= 0 && q < input.n;
        if (!has_p || !has_q) return has_p && !has_q;
        return x.before(input.at(row, p), x, input.at(row, q));
    });
}

/// Puts the expected place wherever the actual one has an equal element.
void accept_equal(int64_t* actual, const int64_t* expected, const Rows& rows, const Elements& x, const Rows& input) {
    std::vector<int64_t> last_row(static_cast<size_t>(input.n), -1);  // the last row that had the place
    for (int64_t row = 0; row < rows.count(); ++row) {
        for (int64_t k = 0; k < rows.n; ++k) {
            int64_t& place = actual[rows.at(row, k)];
            const int64_t wanted = expected[rows.at(row, k)];
            if (place < 0 || place >= input.n || wanted < 0 || wanted >= input.n) continue;
            const bool is_again = std::exchange(last_row[static_cast<size_t>(place)], row) == row;
            if (is_again) {
                place = -1;
            } else if (x.equal(input.at(row, place), x, input.at(row, wanted))) {
                place = wanted;
            }
        }
    }
}

}  // namespace

bool is_open(const Call& call, size_t arg) {
    if (call.row->rule == ShapeRule::linalg_qr) return call.row->args()[arg].is_output;
    if (call.row->rule == ShapeRule::unique) return is_open_distinct(call, arg);
    if (call.row->args()[arg].place_in >= 0) return !keeps_order(call);
    return places_of(call) >= 0 && call.row->args()[arg].is_output && has_no_order(call);
}

Status settle(const Call& call, size_t arg, TensorPtr& actual, TensorPtr& expected) {
    if (actual->shape != expected->shape) return {};
    if (call.row->rule == ShapeRule::linalg_qr) return settle_factor(call, arg, *actual, expected);
    if (call.row->rule == ShapeRule::unique) return settle_distinct(call, arg, actual, expected);
    const Arg& places = call.row->args()[static_cast<size_t>(places_of(call))];
    const Tensor* input = call.tensor(call.row->args()[static_cast<size_t>(places.place_in)].name);
    if (input == nullptr || actual->numel() == 0) return {};
    const Rows rows = input_rows(call, *input), own = result_rows(rows, *actual);
    if (call.row->args()[arg].place_in < 0) {
        for (TensorPtr* values : {&actual, &expected}) {
            auto sorted = sorted_values(**values, own);
            if (!sorted.ok()) return sorted.status();
            *values = *sorted;
        }
        return {};
    }
    if (!is_integer(actual->dtype) || !is_integer(expected->dtype)) return {};
    const Elements x(*input);
    const auto ordered = [&](const Tensor& tensor) {
        return has_no_order(call) ? sorted_places(tensor, own, x, rows) : in_int64(tensor);
    };
    auto wide = ordered(*actual), wanted = ordered(*expected);
    if (!wide.ok() || !wanted.ok()) return (wide.ok() ? wanted : wide).status();
    accept_equal((*wide)->data_as<int64_t>(), (*wanted)->data_as<int64_t>(), own, x, rows);
    // Each keeps its dtype, which the comparison judges.
    for (auto [each, places_in_order] : {std::pair(&actual, &*wide), std::pair(&expected, &*wanted)}) {
        auto settled = make_tensor(cpu_device(), {(*each)->shape, (*each)->dtype, {}});
        if (!settled.ok()) return settled.status();
        narrow(**places_in_order, **settled);
        *each = *settled;
    }
    return {};
}

std::string wrong_pair(const Call& call, const Tensor& values, const Tensor& places) {
    if (call.row->rule == ShapeRule::linalg_qr) return wrong_factors(call, values, places);
    const int arg = places_of(call);
    if (arg < 0 || !has_no_order(call) || values.shape != places.shape || values.numel() == 0) return {};
    const auto place_in = static_cast<size_t>(call.row->args()[static_cast<size_t>(arg)].place_in);
    const Tensor& input = *call.tensor(call.row->args()[place_in].name);
    if (values.dtype != input.dtype || !is_integer(places.dtype)) return {};
    const Rows rows = input_rows(call, input), own = result_rows(rows, values);
    const Elements x(input), y(values);
    const auto wide = in_int64(places);
    if (!wide.ok()) return wide.error().message;
    for (int64_t row = 0; row < own.count(); ++row) {
        for (int64_t k = 0; k < own.n; ++k) {
            const int64_t at = own.at(row, k), place = (*wide)->data_as<int64_t>()[at];
            if (place < 0 || place >= rows.n || y.equal(at, x, rows.at(row, place))) continue;
            return "element " + to_string(unravel(at, values.shape)) + " is not the one at its place " +
                   std::to_string(place);
        }
    }
    return {};
}

}  // namespace diopi
