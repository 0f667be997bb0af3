/// For tests: a backend on an asynchronous device, and backends with a function replaced.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/context.hpp"
#include "runtime/generator.hpp"
#include "runtime_suite/runtime_suite.hpp"

namespace diopi::testing {

template <class Function>
AnyFunction any(Function* function) {
    return reinterpret_cast<AnyFunction>(function);
}

/// Launches a slow sum on the context's stream, as a device's library would.
inline diopiError_t add_on_stream(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t other, const diopiScalar_t*) {
    auto* device = static_cast<AsyncDevice*>(ctx->device);
    const Status s = device->enqueue(ctx->stream, [out, input, other] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (int64_t i = 0; i < out->numel(); ++i) {
            out->data_as<float>()[i] = input->data_as<float>()[i] + other->data_as<float>()[i];
        }
    });
    return s.ok() ? diopiSuccess : diopiErrorOccurred;
}

/// Draws numbers that depend on seed and offset; no check requires normal ones.
inline diopiError_t draw_on_stream(diopiContextHandle_t ctx, diopiTensorHandle_t inout, double, double,
                                   diopiGeneratorHandle_t generator) {
    auto* device = static_cast<AsyncDevice*>(ctx->device);
    const uint64_t first = generator->seed + generator->offset;
    generator->offset += static_cast<uint64_t>(inout->numel());
    const Status s = device->enqueue(ctx->stream, [inout, first] {
        for (int64_t i = 0; i < inout->numel(); ++i) {
            inout->data_as<float>()[i] = static_cast<float>((first + static_cast<uint64_t>(i)) * 2654435761 % 9973);
        }
    });
    return s.ok() ? diopiSuccess : diopiErrorOccurred;
}

/// A backend with a table that the test composes.
class TestBackend {
 public:
    /// Takes the cpu backend's functions.
    TestBackend() {
        const Backend& cpu = **find_backend("cpu");
        for (const Row& row : rows()) table_.push_back(cpu.function(row));
        backend_ = std::make_unique<Backend>("test", cpu.device(), table_);
    }
    /// Two functions that work on an asynchronous device's streams.
    explicit TestBackend(AsyncDevice& device) : table_(rows().size(), nullptr) {
        replace("diopiAdd", any(add_on_stream));
        replace("diopiNormalInp", any(draw_on_stream));
        backend_ = std::make_unique<Backend>("test", device, table_);
    }
    TestBackend& replace(std::string_view function, AnyFunction replacement) {
        table_[find_row(function)->index()] = replacement;
        return *this;
    }
    [[nodiscard]] RuntimeSubject subject() const {
        RuntimeSubject subject;
        subject.backend = backend_.get();
        return subject;
    }

 private:
    std::vector<AnyFunction> table_;
    std::unique_ptr<Backend> backend_;
};

/// Runs the check of that name.
inline CaseResult run_check(std::string_view name, const RuntimeSubject& subject) {
    const auto check = choose_runtime_checks(NameChoice("runtime/" + std::string(name)));
    REQUIRE(check.ok());
    return run_runtime_check(*check->front(), subject);
}

/// Requires that the check fails with this message.
inline void expect_failure(std::string_view name, const RuntimeSubject& subject, const std::string& words) {
    const CaseResult result = run_check(name, subject);
    CHECK(result.verdict == Verdict::kFailed);
    CHECK_THAT(result.reason, Catch::Contains(words));
}

}  // namespace diopi::testing
