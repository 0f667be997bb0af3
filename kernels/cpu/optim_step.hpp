/// Optimiser steps: one pass over a parameter and its state, whose elements are converted a tile at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/operands/optim.hpp"

namespace diopi::cpu {

/// The tensors of a step as dense memory: grad, which is read, and the state, which is read and written. S: the type of
/// the elements of a tile.
template <class S>
class StepTiles {
 public:
    StepTiles(const View& grad, std::span<const View> state)
        : operands_(state.size() + 1), outs_(state.size()), ins_(state.size() + 1) {
        for (size_t k = 0; k < operands_.size(); ++k) {
            Operand& o = operands_[k];
            o.view = k == 0 ? grad : state[k - 1];
            o.loader.init(o.view.dtype, kComputeDtype<S>, o.in);
            if (k > 0) o.storer.init(o.view.dtype, kComputeDtype<S>, o.out);
        }
    }
    StepTiles(const StepTiles&) = delete;
    StepTiles& operator=(const StepTiles&) = delete;

    /// Runs `body`, whose ins are grad and the state, and whose outs are the state, on elements `begin` to `end`.
    void run(int64_t begin, int64_t end, TileFunction body, const void* numbers) {
        for (int64_t first = begin; first < end; first += kTile) {
            const int64_t n = std::min(kTile, end - first);
            const auto patch = [&](const Operand& o) { return Patch::of(o.view, first, n); };
            for (size_t k = 0; k < operands_.size(); ++k) {
                ins_[k] = operands_[k].loader.load(patch(operands_[k]));
                if (k > 0) outs_[k - 1] = operands_[k].storer.target(patch(operands_[k]));
            }
            body(outs_.data(), ins_.data(), n, numbers);
            for (size_t k = 1; k < operands_.size(); ++k) {
                operands_[k].storer.store(outs_[k - 1], patch(operands_[k]));
            }
        }
    }

 private:
    struct Operand {
        Operand() {}  // leaves the buffers unset
        View view;
        Loader loader;
        Storer storer;
        Buffers in, out;
    };
    std::vector<Operand> operands_;
    std::vector<void*> outs_;
    std::vector<const void*> ins_;
};

/// Runs step<T>(), the numbers and the function of a step, on the tensors of the state, the parameter first; where all
/// are of bfloat16, step<float, Bfloat16>(), if there is one: it converts the elements itself.
template <class Step>
diopiError_t run_step(diopiContextHandle_t ctx, std::string_view op, diopiConstTensorHandle_t grad,
                      std::span<const StepTensor> state, const Step& step) {
    std::vector<StepTensor> all(state.begin(), state.end());
    all.push_back({view(grad), "grad"});
    if (const diopiError_t error = check_step(op, all); error != diopiSuccess) return error;
    const auto in_type = [&]<class T, class S = T>() {
        Staging staging(ctx);
        // Tensors that are not dense become dense ones of S.
        const auto dense = [&](const View& v, const S* staged) {
            View made = v;
            made.data = reinterpret_cast<std::byte*>(const_cast<S*>(staged));
            made.dtype = kComputeDtype<S>;
            return made;
        };
        std::vector<View> views;
        View from = view(grad);
        if (!from.is_contiguous()) from = dense(from, staging.in<S>(from));
        for (const StepTensor& each : state) {
            views.push_back(each.view);
            if (each.view.is_contiguous()) continue;
            const S* old = staging.in<S>(each.view);
            S* made = staging.out<S>(each.view);
            if (staging.error() == diopiSuccess) std::copy_n(old, each.view.numel, made);
            views.back() = dense(each.view, made);
        }
        if (staging.error() != diopiSuccess) return staging.error();
        const auto [numbers, function] = [&] {
            if constexpr (std::is_same_v<T, S>)
                return step.template operator()<T>();
            else
                return step.template operator()<T, S>();
        }();
        const auto* s = &numbers;
        const auto body = function;
        parallel_for(state[0].view.numel, 1, [&](int64_t begin, int64_t end) {
            std::make_unique<StepTiles<S>>(from, views)->run(begin, end, body, s);
        });
        return staging.finish();
    };
    if constexpr (requires { step.template operator()<float, Bfloat16>(); }) {
        const auto is_bfloat16 = [](const StepTensor& x) { return x.view.dtype == Dtype::bfloat16; };
        if (std::ranges::all_of(all, is_bfloat16)) return in_type.template operator()<float, Bfloat16>();
    }
    const bool is_wide = std::ranges::any_of(all, [](const StepTensor& x) { return x.view.dtype == Dtype::float64; });
    return is_wide ? in_type.template operator()<double>() : in_type.template operator()<float>();
}

}  // namespace diopi::cpu
