/// Joined, cut, turned, padded and repeated tensors: copies without a computation.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"

namespace diopi::reference {

namespace {

/// out[.., k, ..] = tensors[k][..], k being the index of dim.
template <class T>
void stack_into(diopiTensorHandle_t out, std::span<diopiConstTensorHandle_t> tensors, int64_t dim_argument) {
    Output<T> y(out, "out");
    const auto count = static_cast<int64_t>(tensors.size());
    const ShapeView shape = shape_of(tensors[0]);
    const auto dim = static_cast<size_t>(require_dim(dim_argument, static_cast<int64_t>(shape.size()) + 1));
    Shape wanted(shape.begin(), shape.end());
    wanted.insert(wanted.begin() + static_cast<std::ptrdiff_t>(dim), count);
    require_shape("out", y.shape(), wanted);
    const int64_t outer = numel(shape.first(dim)), inner = numel(shape.subspan(dim));
    for (int64_t k = 0; k < count; ++k) {
        const std::string argument = "tensors[" + std::to_string(k) + "]";
        const Operand<T> x(tensors[static_cast<size_t>(k)], argument);
        require_shape(argument, x.shape(), shape);
        for (int64_t o = 0; o < outer; ++o) {
            std::copy_n(x.data() + o * inner, inner, y.data() + (o * count + k) * inner);
        }
    }
    y.store();
}

diopiError_t stack(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                   int64_t count, int64_t dim) {
    return kernel([&] {
        if (count < 1 || tensors == nullptr) refuse("tensors holds none, wanted one at least");
        const std::span list(tensors, static_cast<size_t>(count));
        in_kind(view_of(out).dtype, [&](auto t) { stack_into<decltype(t)>(out, list, dim); });
    });
}

/// outs[k][.., i, ..] = input[.., start_k + i, ..] with start_k the sizes before.
diopiError_t split(diopiContextHandle_t, std::string_view, diopiTensorHandle_t* outs, int64_t num_outs,
                   diopiConstTensorHandle_t input, diopiSize_t sizes, int64_t dim) {
    return kernel([&] {
        const ShapeView shape = shape_of(input);
        if (shape.empty()) refuse("input has no dimension");
        const auto d = static_cast<size_t>(require_dim(dim, static_cast<int64_t>(shape.size())));
        int64_t start = 0;
        for (const int64_t size : list_of(sizes)) start += std::max<int64_t>(size, 0);
        if (num_outs != sizes.len || start != shape[d]) refuse("splitSizes do not make up dim, one for each output");
        start = 0;
        for (int64_t k = 0; k < num_outs; ++k) {
            Positions part = all_of_dim(sizes.data[k]);
            for (int64_t& at : part) at += start;
            start += sizes.data[k];
            const Places places = places_along(shape, d, std::move(part));
            in_kind(view_of(input).dtype, [&](auto t) { take<decltype(t)>(outs[k], input, places, places.shape); });
        }
    });
}

/// outs[k][i0, i1, ...] = inputs[k][ik]
diopiError_t meshgrid(diopiContextHandle_t, std::string_view, diopiTensorHandle_t* outs,
                      diopiConstTensorHandle_t* inputs, int64_t count) {
    return kernel([&] {
        if (count < 1 || inputs == nullptr) refuse("inputs holds none, wanted one at least");
        Shape shape;
        for (int64_t k = 0; k < count; ++k) {
            require_same_dtype("inputs", inputs[k], inputs[0]);
            if (shape_of(inputs[k]).size() > 1) refuse("inputs holds a tensor of more than 1 dimension");
            shape.push_back(numel(shape_of(inputs[k])));
        }
        for (int64_t k = 0; k < count; ++k) {
            const auto d = static_cast<size_t>(k);
            std::vector<Positions> positions;
            for (const int64_t size : shape) positions.emplace_back(static_cast<size_t>(size), 0);
            positions[d] = all_of_dim(shape[d]);
            Shape line(shape.size(), 1);
            line[d] = shape[d];
            const Places places = places_by_dim(line, positions);
            in_kind(view_of(inputs[k]).dtype, [&](auto t) { take<decltype(t)>(outs[k], inputs[k], places, shape); });
        }
    });
}

/// out[i_dims[0], i_dims[1], ...] = input[i0, i1, ...]: a walk with the strides of input in another order.
template <class T>
void reorder(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const std::vector<size_t>& dims) {
    const Operand<T> x(input, "input");
    Output<T> y(out, "out");
    const Shape own = contiguous_strides(x.shape());
    Shape shape, strides;
    for (const size_t d : dims) {
        shape.push_back(x.shape()[d]);
        strides.push_back(own[d]);
    }
    require_shape("out", y.shape(), shape);
    const Shape dense = contiguous_strides(shape);
    const Rows<2> rows(shape, {ShapeView(dense), ShapeView(strides)});
    rows.for_each([&](const Rows<2>::Offsets& at) {
        for (int64_t i = 0; i < rows.length(); ++i) y[at[0] + i * rows.step()[0]] = x[at[1] + i * rows.step()[1]];
    });
    y.store();
}

diopiError_t permute(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     diopiSize_t dims) {
    return kernel([&] {
        const auto rank = static_cast<int64_t>(shape_of(input).size());
        std::vector<size_t> order;
        for (const int64_t dim : list_of(dims)) {
            const auto d = static_cast<size_t>(require_dim(dim, rank));
            if (std::ranges::find(order, d) != order.end())
                refuse("dims names dimension " + std::to_string(d) + " twice");
            order.push_back(d);
        }
        if (dims.len != rank) refuse("dims has " + std::to_string(dims.len) + " numbers, wanted all dimensions");
        in_kind(view_of(input).dtype, [&](auto t) { reorder<decltype(t)>(out, input, order); });
    });
}

diopiError_t transpose(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                       int64_t dim0, int64_t dim1) {
    return kernel([&] {
        const auto rank = static_cast<int64_t>(shape_of(input).size());
        const auto first = static_cast<size_t>(require_dim(dim0, rank)),
                   second = static_cast<size_t>(require_dim(dim1, rank));
        std::vector<size_t> order;
        for (int64_t d = 0; d < rank; ++d) order.push_back(static_cast<size_t>(d));
        if (rank > 0) std::swap(order[first], order[second]);
        in_kind(view_of(input).dtype, [&](auto t) { reorder<decltype(t)>(out, input, order); });
    });
}

int64_t modulo(int64_t x, int64_t size) { return (x % size + size) % size; }

/// out[(i + shift) mod size] = input[i] along each of dims; several shifts of one dim add up.
diopiError_t roll(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                  diopiSize_t shifts, diopiSize_t dims) {
    return kernel([&] {
        const ShapeView own = shape_of(input);
        const bool is_flat = dims.len == 0;
        const Shape shape = is_flat ? Shape{numel(own)} : Shape(own.begin(), own.end());
        if (shifts.len != (is_flat ? 1 : dims.len)) refuse("shifts has another length than dims");
        if (shape.empty()) refuse("dims names dimensions of a single element");
        std::vector<Positions> positions;
        for (const int64_t size : shape) positions.push_back(all_of_dim(size));
        for (int64_t i = 0; i < shifts.len; ++i) {
            const int64_t dim = is_flat ? 0 : require_dim(dims.data[i], static_cast<int64_t>(own.size()));
            const int64_t size = shape[static_cast<size_t>(dim)];
            if (size == 0) continue;
            for (int64_t& at : positions[static_cast<size_t>(dim)]) at = modulo(at - shifts.data[i] % size, size);
        }
        const Places places = places_by_dim(shape, positions);
        in_kind(view_of(input).dtype, [&](auto t) { take<decltype(t)>(out, input, places, own); });
    });
}

/// The element of a dim that stands at a position in front of, in or behind it. `first` and `last` bound what a crop
/// leaves of it: from the other end comes an element of that.
int64_t padded(std::string_view mode, int64_t at, int64_t size, int64_t first, int64_t last) {
    if (mode == "circular") return first + modulo(at - first, last - first);
    if (at >= 0 && at < size) return at;
    if (mode == "constant") return kNowhere;
    if (mode == "replicate") return at < 0 ? 0 : size - 1;
    return at < 0 ? -at : 2 * (size - 1) - at;
}

/// out[i] = input[padded(i - before)] in each dim; `value` in the padding of mode "constant".
diopiError_t pad_dims(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiSize_t pads, const char* mode, const double* value) {
    return kernel([&] {
        const ShapeView shape = shape_of(input), wide = view_of(out).shape;
        const std::string_view how = mode == nullptr ? "constant" : mode;
        if (how != "constant" && how != "reflect" && how != "replicate" && how != "circular") {
            refuse("mode is '" + std::string(how) + "', wanted constant, reflect, replicate or circular");
        }
        if (pads.len % 2 != 0 || static_cast<size_t>(pads.len / 2) > shape.size())
            refuse("pad has no pair for each dim");
        std::vector<Positions> positions;
        for (size_t d = 0; d < shape.size(); ++d) {
            const auto pair = static_cast<int64_t>(2 * (shape.size() - 1 - d));
            const int64_t before = pair < pads.len ? pads.data[pair] : 0,
                          after = pair < pads.len ? pads.data[pair + 1] : 0;
            const int64_t most = std::max({before, after, int64_t{0}});
            const int64_t first = std::max<int64_t>(-before, 0), last = shape[d] + std::min<int64_t>(after, 0);
            const bool lacks = (how == "reflect" && most > 0 && most >= shape[d]) ||
                               (how == "circular" && most > last - first) ||
                               (how == "replicate" && most > 0 && shape[d] == 0);
            if (lacks || shape[d] + before + after < 0) refuse("pad does not fit shape " + to_string(shape));
            const bool fits = wide.size() == shape.size() && wide[d] == shape[d] + before + after;
            if (!fits) refuse("out has shape " + to_string(wide) + ", not that of the padded input");
            Positions& own = positions.emplace_back();
            for (int64_t at = -before; at < shape[d] + after; ++at)
                own.push_back(padded(how, at, shape[d], first, last));
        }
        const Places places = places_by_dim(shape, positions);
        in_kind(view_of(input).dtype, [&]<class T>(T) {
            const T outside = scalar_as<T>({diopi_dtype_float64, {.fval = value == nullptr ? 0 : *value}});
            // A truth value is not cut: 0.5 is true.
            const bool is_true = view_of(input).dtype == Dtype::boolean && value != nullptr && *value != 0;
            take<T>(out, input, places, places.shape, is_true ? T(1) : outside);
        });
    });
}

/// out[i] = input[i mod size] in each dim.
diopiError_t repeat(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    diopiSize_t repeats) {
    return kernel([&] {
        Shape shape(shape_of(input).begin(), shape_of(input).end());
        if (static_cast<size_t>(repeats.len) < shape.size()) refuse("repeats_size has no number for each dim");
        shape.insert(shape.begin(), static_cast<size_t>(repeats.len) - shape.size(), 1);
        Shape wide = shape;
        for (size_t d = 0; d < shape.size(); ++d) {
            if (repeats.data[d] < 0) refuse("repeats_size holds " + std::to_string(repeats.data[d]));
            wide[d] *= repeats.data[d];
        }
        require_shape("out", view_of(out).shape, wide);
        std::vector<Positions> positions(shape.size());
        for (size_t d = 0; d < shape.size(); ++d) {
            for (int64_t i = 0; i < wide[d]; ++i) positions[d].push_back(i % shape[d]);
        }
        const Places places = places_by_dim(shape, positions);
        in_kind(view_of(input).dtype, [&](auto t) { take<decltype(t)>(out, input, places, places.shape); });
    });
}

}  // namespace

#include "kernels/entries/shape_order.inc"

}  // namespace diopi::reference
