/// Values of images at points, in the best instruction set of this machine: elements are fetched by their places, one
/// vector of points after the other.
#pragma once

#include <cstdint>
#include <tuple>

namespace diopi::cpu {

/// An image's points and channels. A plane has less than 2^31 elements where T is float.
template <class T>
struct Samples {
    const T *image, *points;
    T* to;
    int64_t channels, count;       ///< count: of the points
    int64_t sides;                 ///< of a point
    int64_t depth, height, width;  ///< a depth of 1 where there are two sides
};

/// The function that samples points `begin` to `begin` + n of one image in all channels; n is at most `most`.
template <class T>
struct Sampler {
    void (*run)(const Samples<T>& samples, int64_t begin, int64_t n);
    int64_t most;
};

/// The modes; `linear` is of two sides, `trilinear` of three. `nearest` takes both.
template <class T>
struct Samplers {
    Sampler<T> nearest, linear, trilinear, cubic;
};

using SamplerTable = std::tuple<Samplers<float>, Samplers<double>>;
[[nodiscard]] const SamplerTable& sampler_table();

}  // namespace diopi::cpu
