#include "step/stream_check.hpp"

#include <algorithm>

#include "core/stopwatch.hpp"

namespace diopi {

namespace {

/// Larger calls are not checked: each of their bytes is needed three times.
constexpr size_t kMostBytes = size_t{64} << 20;
/// A hold shorter than this share is repeated with more copies, because other processes may have disturbed their
/// measurement.
constexpr double kHeldShare = 0.5;
constexpr int kTries = 3;

bool is_on_device(const Tensor& tensor) {
    return tensor.storage.device != diopi_host && tensor.storage.nbytes > 0 && !tensor.is_sparse();
}

}  // namespace

Status StreamCheck::make_stream() {
    if (is_made_) return {};
    auto held = HeldStream::create(backend_->device(), placement_->context().stream);
    if (!held.ok()) return held.status();
    held_ = std::move(*held);
    is_made_ = true;
    return {};
}

Result<std::vector<StreamCheck::Block>> StreamCheck::blocks_of(Call& call) {
    std::vector<Block> blocks;
    Device& device = *placement_->context().device;
    size_t nbytes = 0;
    bool has_sparse = false;
    Status status;
    const auto allocate_into = [&](std::shared_ptr<void>& memory, size_t size) {
        if (memory != nullptr || !status.ok()) return;
        auto made = device.allocate(size);
        status = made.status();
        if (made.ok()) memory = std::move(*made);
    };
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        has_sparse = has_sparse || tensor->is_sparse();
        if (!is_on_device(*tensor)) return;
        const auto same = [&](const Block& b) { return b.storage.memory == tensor->storage.memory; };
        auto block = std::ranges::find_if(blocks, same);
        if (block == blocks.end()) {
            block = blocks.insert(blocks.end(), {tensor->storage, nullptr, nullptr});
            nbytes += tensor->storage.nbytes;
        }
        if (nbytes > kMostBytes) return;
        if (place.is_read()) allocate_into(block->before, tensor->storage.nbytes);
        if (place.is_written()) allocate_into(block->after, tensor->storage.nbytes);
    });
    if (!status.ok()) return status.error();
    if (has_sparse || nbytes > kMostBytes) blocks.clear();
    return blocks;
}

Status StreamCheck::save_and_clear(std::vector<Block>& blocks) {
    Context& context = placement_->context();
    for (Block& block : blocks) {
        if (block.before == nullptr) continue;
        void* memory = block.storage.memory.get();
        const std::vector<std::byte> zeros(block.storage.nbytes);
        Status s = held_->copy(block.before.get(), memory, zeros.size());
        if (s.ok()) s = context.device->copy_to_device(context.stream, memory, zeros.data(), zeros.size());
        if (!s.ok()) return s;
    }
    return context.device->synchronize(context.stream);
}

Status StreamCheck::call(HeldRun& run, std::vector<Block>& blocks, double hold_s) {
    Context& context = placement_->context();
    const Chain chain(*backend_);
    Status status = held_->hold(hold_s);
    for (Block& block : blocks) {
        if (block.before == nullptr || !status.ok()) continue;
        status = held_->copy(block.storage.memory.get(), block.before.get(), block.storage.nbytes);
    }
    const PoisonedWorkspace workspace(context, Poison::kSecond);
    const Stopwatch watch;
    if (status.ok()) run.outcome = chain.run(run.placed.call(), context);
    run.call_s = watch.seconds();
    for (Block& block : blocks) {
        if (block.after == nullptr || !status.ok()) continue;
        status = held_->copy(block.after.get(), block.storage.memory.get(), block.storage.nbytes);
    }
    const Status waited = context.device->synchronize(context.stream);
    run.held_s = watch.seconds();
    return status.ok() ? waited : status;
}

void StreamCheck::show_copies(HeldRun& run, const std::vector<Block>& blocks) {
    written_.clear();
    for_each_tensor(run.placed.call(), [&](const Place& place, TensorPtr& tensor) {
        if (!place.is_written() || !is_on_device(*tensor)) return;
        const auto same = [&](const Block& b) { return b.storage.memory == tensor->storage.memory; };
        auto copy = std::make_shared<Tensor>(*tensor);
        copy->storage.memory = std::ranges::find_if(blocks, same)->after;
        written_.push_back(std::exchange(tensor, std::move(copy)));
    });
}

Result<std::optional<HeldRun>> StreamCheck::run(const Step& step, double hold_s) {
    if (Status s = make_stream(); !s.ok()) return s.error();
    if (held_ == nullptr) return std::optional<HeldRun>();
    for (int i = 1;; ++i) {
        auto run = try_once(step, hold_s);
        if (!run.ok() || !*run || (*run)->held_s >= kHeldShare * hold_s || i == kTries) return run;
        held_->lengthen((*run)->held_s);
        placement_->context().release();
    }
}

Result<std::optional<HeldRun>> StreamCheck::try_once(const Step& step, double hold_s) {
    auto placed = PlacedCall::create(step, *placement_, Poison::kSecond);
    // Copies that still run must end before their memory is reused, in case the run ends here.
    const Status arrived = placement_->context().device->synchronize(placement_->context().stream);
    if (!placed.ok()) return placed.error();
    if (!arrived.ok()) return arrived.error();
    HeldRun run{std::move(*placed), {}};
    auto blocks = blocks_of(run.placed.call());
    if (!blocks.ok()) return blocks.error();
    if (blocks->empty()) return std::optional<HeldRun>();
    Status s = save_and_clear(*blocks);
    if (s.ok()) s = call(run, *blocks, hold_s);
    if (!s.ok()) return s.error();
    show_copies(run, *blocks);
    return std::optional(std::move(run));
}

}  // namespace diopi
