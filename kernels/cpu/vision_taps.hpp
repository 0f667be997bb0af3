/// Results along a side of an image as sums of some of its elements: rows of a sparse matrix. Images are resized and
/// pooled by one such matrix for each side, and their gradients go back by the transposed ones.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/operands/window.hpp"

namespace diopi::cpu {

/// T is the type of the weights: float or double.
template <class T>
struct Taps {
    std::vector<int64_t> begin{0};  ///< the first tap of each result, and the end
    std::vector<int64_t> at;
    std::vector<T> weight;

    [[nodiscard]] int64_t count() const { return std::ssize(begin) - 1; }
    void add(int64_t place, T w) {
        at.push_back(place);
        weight.push_back(w);
    }
    /// Ends the taps of a result.
    void next() { begin.push_back(std::ssize(at)); }
    /// The number of taps, where all results have that many; else 0.
    [[nodiscard]] int64_t common() const;
    /// For each of `size` elements the results that it is part of.
    [[nodiscard]] Taps transposed(int64_t size) const;

    /// Adds the two elements around a position, or the four of cubic convolution; those beyond the edges are the ones
    /// at the edges.
    void add_linear(T position, int64_t size);
    void add_cubic(T position, int64_t size);
};

/// The weights of cubic convolution with a = -0.75. Source: R. Keys, Cubic convolution interpolation for digital image
/// processing, equation 4.
template <class T>
[[nodiscard]] std::array<T, 4> cubic_weights(T part) {
    constexpr T a = T(-0.75);
    const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto far = [](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    return {far(part + 1), near(part), near(1 - part), far(2 - part)};
}

template <class T>
int64_t Taps<T>::common() const {
    const int64_t all = count() == 0 ? 0 : begin[1];
    for (int64_t i = 0; i < count(); ++i) {
        if (begin[static_cast<size_t>(i)] != i * all) return 0;
    }
    return std::ssize(at) == count() * all ? all : 0;
}

template <class T>
Taps<T> Taps<T>::transposed(int64_t size) const {
    Taps<T> out;
    out.begin.assign(static_cast<size_t>(size) + 1, 0);
    for (const int64_t place : at) ++out.begin[static_cast<size_t>(place) + 1];
    for (size_t i = 1; i < out.begin.size(); ++i) out.begin[i] += out.begin[i - 1];
    out.at.resize(at.size());
    out.weight.resize(at.size());
    std::vector<int64_t> next(out.begin.begin(), out.begin.end() - 1);
    for (int64_t i = 0; i < count(); ++i) {
        for (auto k = static_cast<size_t>(begin[static_cast<size_t>(i)]);
             k < static_cast<size_t>(begin[static_cast<size_t>(i) + 1]); ++k) {
            const auto to = static_cast<size_t>(next[static_cast<size_t>(at[k])]++);
            out.at[to] = i;
            out.weight[to] = weight[k];
        }
    }
    return out;
}

template <class T>
void Taps<T>::add_linear(T position, int64_t size) {
    const T low = std::floor(position), part = position - low;
    const auto first = std::min(static_cast<int64_t>(low), size - 1);
    add(first, 1 - part);
    add(std::min(first + 1, size - 1), part);
}

template <class T>
void Taps<T>::add_cubic(T position, int64_t size) {
    const T low = std::floor(position);
    const std::array<T, 4> weights = cubic_weights(position - low);
    for (int64_t k = 0; k < 4; ++k) {
        add(std::clamp<int64_t>(static_cast<int64_t>(low) - 1 + k, 0, size - 1), weights[static_cast<size_t>(k)]);
    }
}

/// The matrices of the three sides, and the planes they are applied to, of `lanes` interleaved channels.
template <class T>
struct Resample {
    int64_t lanes = 1;
    operands::Sides in{}, out{};
    std::array<Taps<T>, operands::kMostSides> taps;
    bool adds = false;     ///< to the elements of the output, instead of replacing them
    int64_t first = 0;     ///< the first column of the input that the taps name is this one,
    int64_t columns = -1;  ///< and no more than so many are read; -1: all

    /// Reads no other columns than those that have taps.
    void narrow();
};

template <class T>
void Resample<T>::narrow() {
    Taps<T>& along = taps[2];
    if (along.at.empty()) {
        columns = 0;
        return;
    }
    const auto [low, high] = std::ranges::minmax(along.at);
    first = low;
    columns = high - low + 1;
    for (int64_t& place : along.at) place -= first;
}

/// y = each plane of x resampled along all sides; both are dense.
template <class T>
void resample(const Resample<T>& r, int64_t planes, const T* x, T* y);

extern template void resample<float>(const Resample<float>&, int64_t, const float*, float*);
extern template void resample<double>(const Resample<double>&, int64_t, const double*, double*);

}  // namespace diopi::cpu
