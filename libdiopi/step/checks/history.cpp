/// Checks that state from other calls does not change a result. The call is repeated after calls with other values,
/// strides or shapes at the same addresses, with other numbers or options, on another stream, from another thread,
/// after many calls, and while another thread calls the function.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "call/tensors.hpp"
#include "core/format.hpp"
#include "core/stopwatch.hpp"
#include "core/strided.hpp"
#include "step/checks/list.hpp"
#include "step/undefined.hpp"

namespace diopi {

namespace {

/// Larger and slower calls have no histories.
constexpr size_t kMostBytes = size_t{1} << 20;
constexpr double kSlowestCall_s = 2e-3;
/// The calls of the longest history, more than a byte counts; fewer where they take longer than this.
constexpr int kManyCalls = 1000;
constexpr double kManyCalls_s = 0.01;
/// The calls that each of two threads makes while the other one calls, too; fewer where they take longer than this.
constexpr int kCallsBeside = 16;
constexpr double kCallsBeside_s = 0.01;

/// The memory of a placed call, as it is before the call.
class Memory {
 public:
    static Result<Memory> of(const Call& call, Context& context) {
        Memory memory;
        std::set<const void*> seen;
        Status status;
        for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) {
            const Storage& storage = tensor->storage;
            if (storage.memory == nullptr || !seen.insert(storage.memory.get()).second || !status.ok()) return;
            Block& block = memory.blocks_.emplace_back(Block{storage, {}});
            block.bytes.resize(storage.nbytes);
            status =
                context.device->copy_to_host(context.stream, block.bytes.data(), storage.memory.get(), storage.nbytes);
        });
        if (status.ok()) status = context.device->synchronize(context.stream);
        if (!status.ok()) return status.error();
        return memory;
    }

    [[nodiscard]] Status restore(Context& context) const {
        for (const Block& block : blocks_) {
            const Status s = context.device->copy_to_device(context.stream, block.storage.memory.get(),
                                                            block.bytes.data(), block.bytes.size());
            if (!s.ok()) return s;
        }
        return context.device->synchronize(context.stream);
    }

    /// The bytes of the tensor's storage.
    [[nodiscard]] const std::vector<std::byte>& bytes_of(const Tensor& tensor) const {
        return std::ranges::find(blocks_, tensor.storage.memory, [](const Block& each) { return each.storage.memory; })
            ->bytes;
    }

 private:
    struct Block {
        Storage storage;
        std::vector<std::byte> bytes;
    };
    std::vector<Block> blocks_;
};

/// Half of a normal number, which is legal wherever the number is; the bits of one part of an element.
template <typename Bits>
Bits halved(Bits bits, int significand) {
    const Bits unit = Bits{1} << (significand - 1);
    const Bits all = static_cast<Bits>((Bits{1} << (8 * sizeof(Bits) - 1)) - unit), exponent = bits & all;
    return exponent <= unit || exponent == all ? bits : static_cast<Bits>(bits - unit);
}

/// Gives the elements in `after` the values that `change_values` names, from those in `before`.
template <typename Bits>
void change_elements(const Tensor& tensor, bool keeps_own, const std::byte* before, std::byte* after) {
    const Dtype component = component_of(tensor.dtype);
    const int significand = is_floating(component) ? format_of(component).significand : 0;
    const int64_t parts = static_cast<int64_t>(size_of(tensor.dtype) / sizeof(Bits));
    const Bits* from = reinterpret_cast<const Bits*>(before);
    Bits* to = reinterpret_cast<Bits*>(after);
    const auto give = [&](int64_t target, int64_t source) {
        for (int64_t p = 0; p < parts; ++p) {
            const Bits bits = from[source * parts + p];
            to[target * parts + p] = significand > 0 ? halved(bits, significand) : bits;
        }
    };
    int64_t first = 0;
    std::optional<int64_t> last;
    for_each_offset(tensor.shape, tensor.strides, [&](int64_t offset) {
        const int64_t element = tensor.offset + offset;
        if (keeps_own) return give(element, element);
        if (last)
            give(*last, element);
        else
            first = element;
        last = element;
    });
    if (last) give(*last, first);
}

/// Each element gets the value of the next one, and half of it if it is a floating number. One with a meaning keeps its
/// own: the next one may be of another kind, as a coordinate behind the number of an image.
Status change_values(const Call& call, const Memory& memory, Context& context) {
    Status status;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (!place.is_read() || tensor->numel() == 0 || !status.ok()) return;
        const std::vector<std::byte>& before = memory.bytes_of(*tensor);
        std::vector<std::byte> after = before;
        const Dtype component = component_of(tensor->dtype);
        const bool keeps_own = is_floating(component) && place.arg.has_meaning;
        const auto change = [&](auto bits) {
            change_elements<decltype(bits)>(*tensor, keeps_own, before.data(), after.data());
        };
        switch (size_of(component)) {
            case 1:
                change(uint8_t{});
                break;
            case 2:
                change(uint16_t{});
                break;
            case 4:
                change(uint32_t{});
                break;
            default:
                change(uint64_t{});
        }
        status = write_now(*context.device, tensor->storage.memory.get(), after.data(), after.size());
    });
    return status;
}

/// Makes the read tensors column-major where they are row-major; none: there is none of two dims.
std::optional<Call> with_other_strides(const Call& call) {
    Call other = call;
    bool differs = false;
    for_each_tensor(other, [&](const Place& place, TensorPtr& tensor) {
        if (!place.is_read() || place.arg.is_inout || tensor->is_sparse() || !tensor->is_contiguous()) return;
        Shape strides(tensor->shape.size());
        int64_t stride = 1;
        for (size_t d = 0; d < strides.size(); ++d) {
            strides[d] = stride;
            stride *= tensor->shape[d];
        }
        if (tensor->numel() < 2 || is_contiguous(tensor->shape, strides)) return;
        tensor = std::make_shared<Tensor>(*tensor);
        tensor->strides = std::move(strides);
        differs = true;
    });
    return differs ? std::optional(std::move(other)) : std::nullopt;
}

/// The first half of all tensors, if they have one shape.
std::optional<Call> with_half_the_rows(const Call& call) {
    Call other = call;
    const Shape* shape = nullptr;
    bool fits = true;
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) {
        if (shape == nullptr) shape = &tensor->shape;
        fits = fits && !tensor->is_sparse() && tensor->shape == *shape && tensor->is_contiguous();
    });
    if (shape == nullptr || !fits || shape->empty() || shape->front() < 2 || numel(*shape) == 0) return std::nullopt;
    for_each_tensor(other, [&](const Place&, TensorPtr& tensor) {
        tensor = std::make_shared<Tensor>(*tensor);
        tensor->shape.front() /= 2;
    });
    return other;
}

/// The floating tensors with the dtype that other_dtype(own) gives, in the memory of the call's tensors. None: no dtype
/// differs, or a tensor that is only read has numbers with a meaning, which its bits need not have in another dtype.
template <class OtherDtype>
std::optional<Call> with_other_dtypes(const Call& call, const OtherDtype& other_dtype) {
    Call other = call;
    bool differs = false, keeps_meaning = true;
    for_each_tensor(other, [&](const Place& place, TensorPtr& tensor) {
        const Dtype dtype = other_dtype(tensor->dtype);
        if (tensor->is_sparse() || dtype == tensor->dtype) return;
        keeps_meaning = keeps_meaning && (place.arg.is_inout || !place.arg.has_meaning);
        const size_t ratio = size_of(tensor->dtype) / size_of(dtype);
        tensor = std::make_shared<Tensor>(*tensor);
        tensor->offset *= static_cast<int64_t>(ratio);
        tensor->dtype = dtype;
        differs = true;
    });
    return differs && keeps_meaning ? std::optional(std::move(other)) : std::nullopt;
}

/// Another floating dtype whose elements are no larger.
Dtype another_floating(Dtype dtype) {
    switch (dtype) {
        case Dtype::float64:
            return Dtype::float32;
        case Dtype::float32:
        case Dtype::float16:
            return Dtype::bfloat16;
        case Dtype::bfloat16:
            return Dtype::float16;
        case Dtype::complex128:
            return Dtype::complex64;
        default:
            return dtype;
    }
}

/// Many functions refuse int8: what an error leaves behind may show, too.
Dtype int8_for_floating(Dtype dtype) { return is_floating(dtype) ? Dtype::int8 : dtype; }

/// The call on the same tensors with the numbers and options of `other`, a call of the same function.
Call with_options_of(const Call& other, const Call& call) {
    Call made = call;
    for (size_t i = 0; i < call.args.size(); ++i) {
        if (call.row->args()[i].is_option()) made.args[i] = other.args[i];
    }
    return made;
}

/// The output that may be one of the tensors that the call reads, and has the form of it; none if there is none.
std::optional<size_t> output_in_place(const Call& call) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        if (!arg.is_output || arg.may_be < 0) continue;
        const TensorPtr out = call.tensor_at(ArgPlace(i)),
                        in = call.tensor_at(ArgPlace(static_cast<size_t>(arg.may_be)));
        const bool fits = out != nullptr && in != nullptr && out->shape == in->shape && out->dtype == in->dtype;
        if (fits && out->numel() > 0) return i;
    }
    return std::nullopt;
}

class HistoryCheck final : public StepCheck {
 public:
    using StepCheck::StepCheck;

    bool needs_second() const override { return true; }

    /// A call with other options that cannot be judged comes first: what a library keeps of it for calls of these
    /// shapes makes the step's own results wrong.
    Status before_first(const Step& step) override {
        follows_other_ = false;
        if (!judges_other_options() || !step.other_call || step.other_is_consistent || !is_small(step.call)) return {};
        setup_.attempts.start(step);
        Placement placement = setup_.placement.fresh();
        auto placed = PlacedCall::create(step, placement, Poison::kFirst);
        if (!placed.ok()) return placed.error();
        Attempt attempt{std::move(*placed)};
        const Call own = attempt.placed.call();
        attempt.placed.call() = with_options_of(*step.other_call, own);
        const Status called = setup_.attempts.repeat(attempt, WorkPhase::kInOtherCall);
        attempt.placed.call() = own;
        setup_.context().release();
        follows_other_ = true;
        return called;
    }

    void judge(StepUnderTest& test, Findings& findings) override {
        if (findings.has_failed() && follows_other_) findings.explain("after a call with other numbers or options: ");
        if (findings.has_failed() || test.second == nullptr || !is_suitable(test)) return;
        // The first call at new addresses has other values: a library may keep those that it meets first.
        Placement placement = setup_.placement.fresh();
        auto placed = PlacedCall::create(test.step, placement, Poison::kSecond);
        if (!placed.ok()) return findings.fail(placed.error());
        Attempt attempt{std::move(*placed)};
        other_call_ = test.step.other_call ? &*test.step.other_call : nullptr;
        auto memory = Memory::of(attempt.placed.call(), setup_.context());
        if (!memory.ok()) return findings.fail(memory.error());
        Failure failure = failure_after_any(test, attempt, *memory, findings.result().histories);
        if (failure.ok()) failure = failure_of_other_call(test, attempt, *memory);
        if (failure.ok()) failure = failure_without_an_output(test, attempt, *memory);
        if (failure.ok()) failure = failure_beside_another_thread(test, attempt, *memory);
        findings.fail(failure);
        findings.fail(memory->restore(setup_.context()));
    }

 private:
    /// Calls whose results must be the same each time, on memory of their own, and quick.
    [[nodiscard]] bool is_suitable(const StepUnderTest& test) const {
        const Row& row = *test.step.call.row;
        const bool is_random = test.expected.empty() || !test.second->placed.generators().empty();
        const bool is_repeatable = row.repeat == Repeat::repeatable && !is_random && !row.makes_results();
        if (!is_repeatable || test.second->seconds > kSlowestCall_s) return false;
        return is_small(test.second->placed.call());
    }

    [[nodiscard]] static bool is_small(const Call& call) {
        size_t bytes = 0;
        bool is_dense = true;
        for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) {
            bytes += tensor->storage.nbytes;
            is_dense = is_dense && !tensor->is_sparse();
        });
        return is_dense && bytes <= kMostBytes;
    }

    [[nodiscard]] bool judges_other_options() const {
        return setup_.rules.other_options && setup_.rules.adaptor == nullptr;
    }

    Failure failure_after_any(StepUnderTest& test, Attempt& attempt, const Memory& memory, int& passed) {
        const std::pair<const char*, Status (HistoryCheck::*)(Attempt&, const Memory&)> histories[] = {
            {"a call with other values at the same addresses", &HistoryCheck::after_other_values},
            {"a call with other strides at the same addresses", &HistoryCheck::after_other_strides},
            {"a call with half the rows at the same addresses", &HistoryCheck::after_half_the_rows},
            {"a call with other numbers or options", &HistoryCheck::after_other_options},
            {"a call with int8 in place of floating numbers", &HistoryCheck::after_int8},
            {"a call with another floating dtype", &HistoryCheck::after_another_dtype},
            {"calls on another stream", &HistoryCheck::on_another_stream},
            {"calls from another thread", &HistoryCheck::from_another_thread},
            {"up to a thousand calls", &HistoryCheck::after_many_calls},
            {"its own values were put into the output, which was the input, too", &HistoryCheck::in_place_of_input}};
        for (const auto& [words, history] : histories) {
            ran_ = false;
            if (Status s = (this->*history)(attempt, memory); !s.ok()) return failure_of(s.error());
            setup_.context().release();
            if (!ran_) continue;
            // A thread of its own may split the work in another way.
            const bool may_round =
                history == &HistoryCheck::from_another_thread || history == &HistoryCheck::in_place_of_input;
            Failure failure = difference_from_first(test, attempt, may_round);
            passed += failure.ok() ? 1 : 0;
            if (failure.ok()) continue;
            failure.reason = "after " + std::string(words) + ": " + failure.reason;
            return failure;
        }
        return {};
    }

    /// The call under test, on its own values.
    Status call_again(Attempt& attempt, const Memory& memory) {
        if (Status s = memory.restore(setup_.context()); !s.ok()) return s;
        ran_ = true;
        return setup_.attempts.repeat(attempt);
    }

    /// Another call in between; it may fail. What its tensors are must have been changed for this.
    Status after(const std::optional<Call>& other, Attempt& attempt, const Memory& memory) {
        if (!other) return {};
        const Call own = attempt.placed.call();
        attempt.placed.call() = *other;
        const Status called = setup_.attempts.repeat(attempt, WorkPhase::kInOtherCall);
        attempt.placed.call() = own;
        return called.ok() ? call_again(attempt, memory) : called;
    }

    Status after_other_values(Attempt& attempt, const Memory& memory) {
        if (Status s = change_values(attempt.placed.call(), memory, setup_.context()); !s.ok()) return s;
        return after(attempt.placed.call(), attempt, memory);
    }

    Status after_other_strides(Attempt& attempt, const Memory& memory) {
        return after(with_other_strides(attempt.placed.call()), attempt, memory);
    }

    Status after_half_the_rows(Attempt& attempt, const Memory& memory) {
        return after(with_half_the_rows(attempt.placed.call()), attempt, memory);
    }

    Status after_other_options(Attempt& attempt, const Memory& memory) {
        if (other_call_ == nullptr) return {};
        return after(with_options_of(*other_call_, attempt.placed.call()), attempt, memory);
    }

    Status after_int8(Attempt& attempt, const Memory& memory) {
        return after(with_other_dtypes(attempt.placed.call(), int8_for_floating), attempt, memory);
    }

    Status after_another_dtype(Attempt& attempt, const Memory& memory) {
        return after(with_other_dtypes(attempt.placed.call(), another_floating), attempt, memory);
    }

    Status on_another_stream(Attempt& attempt, const Memory& memory) {
        Context& context = setup_.context();
        auto stream = setup_.device().create_stream();
        if (!stream.ok()) return stream.status();
        const diopiStreamHandle_t own = std::exchange(context.stream, *stream);
        const Status called = call_again(attempt, memory);
        context.stream = own;
        const Status destroyed = setup_.device().destroy_stream(*stream);
        return called.ok() ? destroyed : called;
    }

    Status from_another_thread(Attempt& attempt, const Memory& memory) {
        Status called;
        const int own = omp_get_max_threads();
        std::thread([&] {
            // A new thread of the host would have one for each processor, which other workers use.
            if (!setup_.rules.splits_work) omp_set_num_threads(own);
            called = call_again(attempt, memory);
        }).join();
        return called;
    }

    Status after_many_calls(Attempt& attempt, const Memory& memory) {
        const Stopwatch watch;
        for (int i = 0; i < kManyCalls && watch.seconds() < kManyCalls_s && setup_.rules.many_calls; ++i) {
            if (Status s = setup_.attempts.repeat(attempt); !s.ok()) return s;
            setup_.context().release();
        }
        return setup_.rules.many_calls ? call_again(attempt, memory) : Status();
    }

    Status in_place_of_input(Attempt& attempt, const Memory& memory) {
        const Call own = attempt.placed.call();
        const auto output = output_in_place(own);
        if (!output) return {};
        if (Status s = memory.restore(setup_.context()); !s.ok()) return s;
        const auto input = static_cast<size_t>(own.row->args()[*output].may_be);
        const Tensor &in = *own.tensor_at(ArgPlace(input)), &out = *own.tensor_at(ArgPlace(*output));
        std::vector<std::byte> bytes = memory.bytes_of(out);
        const std::byte* from = memory.bytes_of(in).data();
        const size_t size = size_of(out.dtype);
        for_each_offset_pair(out.shape, out.strides, in.strides, [&](int64_t to, int64_t source) {
            std::memcpy(bytes.data() + static_cast<size_t>(out.offset + to) * size,
                        from + static_cast<size_t>(in.offset + source) * size, size);
        });
        if (Status s = write_now(setup_.device(), out.storage.memory.get(), bytes.data(), bytes.size()); !s.ok()) {
            return s;
        }
        ran_ = true;
        attempt.placed.call().args[input] = own.args[*output];
        const Status called = setup_.attempts.repeat(attempt, WorkPhase::kInOtherCall);
        attempt.placed.call() = own;
        return called;
    }

    /// The call with other numbers or options is right, too, after the step's own calls.
    Failure failure_of_other_call(StepUnderTest& test, Attempt& attempt, const Memory& memory) {
        if (other_call_ == nullptr || !test.step.other_is_consistent || !judges_other_options()) return {};
        Step other = test.step;
        other.name = "other";
        other.call = *other_call_;
        if (!why_undefined(other.call).empty()) return {};
        auto expected = setup_.expectations.expected(other);
        if (!expected.ok()) return {};
        const Call own = attempt.placed.call();
        attempt.placed.call() = with_options_of(*other_call_, own);
        Status called = memory.restore(setup_.context());
        if (called.ok()) called = setup_.attempts.repeat(attempt, WorkPhase::kInOtherCall);
        attempt.placed.call() = own;
        if (!called.ok()) return failure_of(called.error());
        if (attempt.outcome.is_declined()) return {};
        const std::string words = "the call with other numbers or options: ";
        if (!attempt.outcome.ok()) return failure_of(behind(words, attempt.outcome));
        Failure wrong = first_wrong({other, other, *expected}, *expected, attempt.placed);
        if (!wrong.ok()) wrong.reason = words + wrong.reason;
        return wrong;
    }

    /// Each output that may be null is not wanted in a call of its own, which gives the others all the same.
    Failure failure_without_an_output(StepUnderTest& test, Attempt& attempt, const Memory& memory) {
        const Call own = attempt.placed.call();
        std::vector<size_t> outputs;
        for (size_t i = 0; i < own.args.size(); ++i) {
            if (own.row->args()[i].is_output && own.tensor_at(ArgPlace(i)) != nullptr) outputs.push_back(i);
        }
        for (const size_t i : outputs) {
            const Arg& arg = own.row->args()[i];
            if (!arg.optional || arg.is_tensor_list() || outputs.size() < 2) continue;
            attempt.placed.call().set_tensor(ArgPlace(i), nullptr);
            const Status called = call_again(attempt, memory);
            attempt.placed.call() = own;
            setup_.context().release();
            if (!called.ok()) return failure_of(called.error());
            if (attempt.outcome.is_declined()) continue;
            std::vector<ArgTensor> others = test.expected;
            std::erase_if(others, [&](const ArgTensor& value) { return value.arg == i; });
            Failure wrong = attempt.outcome.ok() ? first_wrong(test, others, attempt.placed)
                                                 : failure_of(failed(attempt.outcome.message));
            if (wrong.ok()) continue;
            wrong.reason = "without " + std::string(arg.name) + ", which may be null: " + wrong.reason;
            return wrong;
        }
        return {};
    }

    /// Another thread calls the function on other values, with tensors and a context of its own.
    Failure failure_beside_another_thread(StepUnderTest& test, Attempt& attempt, const Memory& memory) {
        const bool has_tools = !setup_.rules.interceptors.empty() || setup_.rules.adaptor != nullptr;
        if (!setup_.rules.two_threads || has_tools) return {};
        Placement placement = setup_.placement.fresh();
        auto other = PlacedCall::create(test.step, placement, Poison::kSecond);
        if (!other.ok()) return failure_of(other.error());
        auto others = Memory::of(other->call(), setup_.context());
        const Status ready = others.ok() ? change_values(other->call(), *others, setup_.context()) : others.status();
        if (!ready.ok()) return failure_of(ready.error());
        auto stream = setup_.device().create_stream();
        if (!stream.ok()) return failure_of(stream.error());
        Context context(setup_.device(), *stream);
        std::atomic<int> calls = 0;
        std::atomic<bool> ends = false;
        std::thread thread([&] {
            while (!ends) {
                static_cast<void>(Chain(*setup_.rules.backend).run(other->call(), context));
                static_cast<void>(setup_.device().synchronize(context.stream));
                context.release();
                ++calls;
            }
        });
        while (calls == 0) std::this_thread::yield();
        Failure failure;
        const Stopwatch watch;
        const int first = calls;
        const auto is_done = [&](int own) {
            return (own >= kCallsBeside && calls - first >= kCallsBeside) || watch.seconds() > kCallsBeside_s;
        };
        for (int i = 0; failure.ok() && !is_done(i); ++i) {
            const Status called = call_again(attempt, memory);
            failure = called.ok() ? difference_from_first(test, attempt, true) : failure_of(called.error());
            setup_.context().release();
        }
        ends = true;
        thread.join();
        if (const Status s = setup_.device().destroy_stream(*stream); !s.ok() && failure.ok())
            failure = failure_of(s.error());
        if (!failure.ok()) failure.reason = "while another thread calls it, too: " + failure.reason;
        return failure;
    }

    /// Between the results of this call and those of the first one.
    Failure difference_from_first(StepUnderTest& test, Attempt& attempt, bool may_round) {
        if (!attempt.outcome.ok()) return failure_of(behind("the call failed: ", attempt.outcome));
        for (const ArgTensor& value : test.expected) {
            Failure differs = difference(test, value.place(), test.first->placed, attempt.placed, false);
            if (!differs.ok() && !(may_round && first_wrong(test, {&value, 1}, attempt.placed).ok())) return differs;
        }
        return {};
    }

    bool follows_other_ = false;        ///< a call with other options came before the step's first one
    const Call* other_call_ = nullptr;  ///< of the step under test; null: it has none
    bool ran_ = false;                  ///< the last history could be made
};

}  // namespace

std::unique_ptr<StepCheck> step_check::history(const CheckSetup& setup) {
    return setup.rules.checks.history ? std::make_unique<HistoryCheck>(setup) : nullptr;
}

}  // namespace diopi
