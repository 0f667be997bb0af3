/// Elements along one dim, by an index for each.
#include <string>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"

namespace diopi::reference {

namespace {

/// out[i][j] = input[index[i][j]][j] for dim 0
diopiError_t gather(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    int64_t dim, diopiConstTensorHandle_t index) {
    return kernel([&] {
        const Places places = places_by_index(shape_of(input), dim, index);
        in_kind(view_of(input).dtype, [&](auto t) { take<decltype(t)>(out, input, places, places.shape); });
    });
}

/// grad_input[index[i][j]][j] += grad_output[i][j] for dim 0
diopiError_t gather_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                             diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input, int64_t dim,
                             diopiConstTensorHandle_t index) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_shape("grad_input", shape_of(grad_input), shape_of(input));
        add_up<T>(grad_input, grad_output, places_by_index(shape_of(input), dim, index));
    });
}

/// Products of integers wrap.
template <class T>
T product_of(T a, T b) {
    if constexpr (std::is_same_v<T, int64_t>)
        return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
        return a * b;
}

/// out = input, then out[index[i][j]][j] = value(k) for dim 0, or its sum or product with it, in the order of index: of
/// several values for an element the last one stays. k is the number of the element (i, j) of index.
template <class T, class ValueOf>
void scatter_values(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Places& places, const char* reduce,
                    ValueOf&& value) {
    const std::string how = reduce == nullptr ? "" : reduce;
    if (how == "add") return change_copy<T>(out, input, places, [&](T& y, int64_t k) { y = sum_of(y, value(k)); });
    if (how == "multiply") {
        return change_copy<T>(out, input, places, [&](T& y, int64_t k) { y = product_of(y, value(k)); });
    }
    if (!how.empty()) refuse("reduce is '" + how + "', wanted 'add', 'multiply' or nothing");
    change_copy<T>(out, input, places, [&](T& y, int64_t k) { y = value(k); });
}

/// The element of src for each of index, which has the same number of dims and is nowhere larger.
Places places_in_source(ShapeView src, const Places& index) {
    if (index.at.empty()) return {};
    const Shape own = src.empty() ? Shape{1} : Shape(src.begin(), src.end());
    std::vector<Positions> positions;
    for (const int64_t size : index.shape.empty() ? Shape{1} : index.shape) positions.push_back(all_of_dim(size));
    bool fits = positions.size() == own.size();
    for (size_t d = 0; fits && d < own.size(); ++d) fits = static_cast<int64_t>(positions[d].size()) <= own[d];
    if (!fits) refuse("src has shape " + to_string(src) + ", smaller than index " + to_string(index.shape));
    return places_by_dim(own, positions);
}

diopiError_t scatter(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     int64_t dim, diopiConstTensorHandle_t src, diopiConstTensorHandle_t index, const char* reduce) {
    return kernel([&] {
        require_same_dtype("src", src, input);
        const Places places = places_by_index(shape_of(input), dim, index);
        const Places from = places_in_source(shape_of(src), places);
        in_kind(view_of(input).dtype, [&]<class T>(T) {
            const Operand<T> x(src, "src");
            scatter_values<T>(out, input, places, reduce,
                              [&](int64_t k) { return x[from.at[static_cast<size_t>(k)]]; });
        });
    });
}

diopiError_t scatter(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     int64_t dim, const diopiScalar_t* value, diopiConstTensorHandle_t index, const char* reduce) {
    return kernel([&] {
        const Places places = places_by_index(shape_of(input), dim, index);
        in_kind(view_of(input).dtype, [&]<class T>(T) {
            T number = scalar_as<T>(*value);
            if (view_of(input).dtype == Dtype::boolean) number = T(scalar_as<double>(*value) != 0);
            scatter_values<T>(out, input, places, reduce, [&](int64_t) { return number; });
        });
    });
}

}  // namespace

#include "kernels/entries/index_gather.inc"

}  // namespace diopi::reference
