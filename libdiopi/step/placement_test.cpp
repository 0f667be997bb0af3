#include "step/placement.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "cases/draw.hpp"
#include "cases/testing.hpp"
#include "runtime/async_device.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace {

const Row& spmm() { return *rows_of("spmm").front(); }
Place input_of_spmm() { return {spmm().args()[static_cast<size_t>(spmm().find("input"))]}; }

TensorPtr drawn_csr() {
    CaseTensor argument = testing::case_tensor("input", {12, 9});
    argument.sparse_csr = true;
    argument.fill.density = 0.5;
    auto drawn = draw(argument, 7);
    REQUIRE(drawn.ok());
    return drawn->front();
}

void check_same(Context& context, const Tensor& placed, const Tensor& host) {
    CHECK(placed.storage.memory != host.storage.memory);
    CHECK((placed.storage.device == diopi_host) == context.device->is_host());
    REQUIRE(placed.shape == host.shape);
    REQUIRE(placed.dtype == host.dtype);
    const auto back = to_host(*context.device, context.stream, placed);
    REQUIRE(back.ok());
    CHECK(std::memcmp((*back)->data(), host.data(), host.nbytes()) == 0);
}

}  // namespace

TEST_CASE("a CSR input is copied to the device with its parts") {
    AsyncDevice far;
    for (Device* device : {&cpu_device(), static_cast<Device*>(&far)}) {
        for (const bool has_layout : {false, true}) {
            const LayoutRule strided = [](const Place&, const TensorSpec& spec) {
                return Layout{contiguous_strides(spec.shape), 3, numel(spec.shape) + 3};
            };
            GuardedDevice guarded(*device, Guard::kZones);
            Context context(guarded);
            Placement placement(context, &guarded, true, has_layout ? strided : LayoutRule());
            const TensorPtr host = drawn_csr();
            const auto placed = placement.input(host, input_of_spmm());
            REQUIRE(placed.ok());
            REQUIRE((*placed)->is_sparse());
            CHECK((*placed)->shape == host->shape);
            CHECK(((*placed)->storage.device == diopi_host) == device->is_host());
            check_same(context, *(*placed)->crow_indices, *host->crow_indices);
            check_same(context, *(*placed)->col_indices, *host->col_indices);
            check_same(context, *(*placed)->values, *host->values);
        }
    }
}

TEST_CASE("a const input that was made for the device is shared, and known to be lost when a call changes it") {
    for (const Guard guard : {Guard::kNone, Guard::kZones, Guard::kPages}) {
        GuardedDevice guarded(cpu_device(), guard);
        GuardedDevice* guards = guard == Guard::kNone ? nullptr : &guarded;
        Context context(guarded);
        Placement placement(context, guards, true);
        const auto drawn = draw(testing::case_tensor("input", {12, 9}), 7, placement.input_memory());
        REQUIRE(drawn.ok());
        const TensorPtr& host = drawn->front();
        const auto placed = placement.input(host, input_of_spmm());
        REQUIRE(placed.ok());
        CHECK(*placed == host);
        CHECK(placement.check_input(host).ok());
        Placement fresh = placement.fresh();
        const auto copy = fresh.input(host, input_of_spmm());
        REQUIRE(copy.ok());
        check_same(context, **copy, *host);
        if (guard != Guard::kNone) {
            host->data_as<float>()[host->numel()] = 1;
            CHECK_THAT(placement.damage()->at(0), Catch::Contains(" past the end of input, "));
        }
        (*copy)->data_as<float>()[0] += 1;
        CHECK_FALSE(fresh.check_input(host).ok());
        CHECK_FALSE(fresh.has_lost_inputs());
        CHECK_FALSE(placement.has_lost_inputs());
        host->data_as<float>()[0] += 1;
        CHECK(placement.check_input(host).reason == "input input was modified");
        CHECK(placement.has_lost_inputs());
        // Nothing would find that an input between guards is changed.
        CHECK((&Placement(context, guards, false).input_memory() == &cpu_device()) == (guards != nullptr));
    }
    AsyncDevice far;
    GuardedDevice guarded(far, Guard::kZones);
    Context context(guarded);
    CHECK(&Placement(context, &guarded, true).input_memory() == &cpu_device());
}

TEST_CASE("a tensor is copied whole to the device if the rule never gives the same place twice") {
    AsyncDevice far;
    GuardedDevice guarded(far, Guard::kZones);
    Context context(guarded);
    int64_t offset = 0;
    Placement placement(context, &guarded, false, [&](const Place&, const TensorSpec& spec) {
        offset = offset == 0 ? 40 : 0;
        return Layout{contiguous_strides(spec.shape), offset, numel(spec.shape) + offset};
    });
    const TensorPtr host = drawn_csr()->values;
    for (int i = 0; i < 3; ++i) {
        const auto placed = placement.inout(*host, input_of_spmm());
        REQUIRE(placed.ok());
        check_same(context, **placed, *host);
        const auto output = placement.output({host->shape, host->dtype, {}}, input_of_spmm(), Poison::kSecond);
        REQUIRE(output.ok());
        const auto poisoned = to_host(guarded, context.stream, **output);
        REQUIRE(poisoned.ok());
        const auto* bytes = static_cast<const unsigned char*>((*poisoned)->data());
        const int pattern = poison_byte(host->dtype, Poison::kSecond);
        CHECK(std::all_of(bytes, bytes + host->nbytes(), [&](unsigned char byte) { return byte == pattern; }));
    }
    const auto damage = placement.damage();
    REQUIRE(damage.ok());
    CHECK(damage->empty());
}

TEST_CASE("a write into a CSR input, or past the end of a part of it, is found") {
    for (const Guard guard : {Guard::kNone, Guard::kZones}) {
        GuardedDevice guarded(cpu_device(), guard);
        Context context(guarded);
        Placement placement(context, guard == Guard::kNone ? nullptr : &guarded, true);
        const TensorPtr host = drawn_csr();
        auto placed = placement.input(host, input_of_spmm());
        REQUIRE(placed.ok());
        CHECK(placement.check_input(host).ok());
        const Tensor& values = *(*placed)->values;
        values.data_as<float>()[0] += 1;
        CHECK(placement.check_input(host).reason == "input input was modified");
        if (guard == Guard::kNone) continue;
        placed = placement.input(host, input_of_spmm());
        REQUIRE(placed.ok());
        CHECK(placement.damage()->empty());
        const Tensor& columns = *(*placed)->col_indices;
        columns.data_as<int64_t>()[columns.numel()] += 1;
        CHECK_THAT(placement.damage()->at(0), Catch::Contains(" past the end of input.col_indices, "));
    }
}

}  // namespace diopi
