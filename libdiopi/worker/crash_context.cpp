#include "worker/crash_context.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "worker/printable.hpp"

namespace diopi {

namespace {

constexpr size_t kLongestText = 120;
constexpr size_t kLongestStep = 16;
constexpr size_t kLongestFunction = 64;

}  // namespace

struct CrashPage::Page {
    std::atomic<WorkPhase> phase;
    std::atomic<bool> has_buffer;
    char step[kLongestStep];
    char function[kLongestFunction];
    char stage[kLongestText];
    char buffer[kLongestText];
    std::atomic<bool> out_of_memory, lost_socket, begun;
};

namespace {

/// The page of this process if it is a worker.
std::atomic<CrashPage::Page*> g_page = nullptr;

void put_text(std::string_view text, std::span<char> room) noexcept {
    const size_t length = std::min(text.size(), room.size());
    std::memcpy(room.data(), text.data(), length);
    if (length < room.size()) room[length] = '\0';
}

std::string text_in(std::span<const char> room) { return {room.data(), ::strnlen(room.data(), room.size())}; }

/// The phase is set last: a worker that dies while it writes the rest has noted nothing.
template <class Fill>
void note(WorkPhase phase, const Fill& fill) noexcept {
    CrashPage::Page* page = g_page.load(std::memory_order_relaxed);
    if (page == nullptr) return;
    page->phase.store(WorkPhase::kNone, std::memory_order_release);
    page->has_buffer.store(false, std::memory_order_release);
    fill(*page);
    page->phase.store(phase, std::memory_order_release);
}

std::string text_of(const CrashContext& context) {
    const std::string call = context.step + " (" + context.function + ")";
    switch (context.phase) {
        case WorkPhase::kNone:
            return "";
        case WorkPhase::kStage:
            return context.stage;
        case WorkPhase::kInCall:
            return call;
        case WorkPhase::kInChecks:
            return "the checks after " + call;
        case WorkPhase::kInHeldCall:
            return call + " with its stream held";
        case WorkPhase::kInOtherCall:
            return "the history check of " + call + ", in a call of other values, strides, shapes, dtypes or options";
    }
    return "";
}

}  // namespace

std::string CrashContext::text() const {
    std::string text = text_of(*this);
    if (!buffer.empty()) text += (text.empty() ? "" : ", ") + buffer;
    return printable(text.substr(0, kLongestText), kLongestText);
}

void note_stage(std::string_view stage) noexcept {
    note(WorkPhase::kStage, [&](CrashPage::Page& page) { put_text(stage, page.stage); });
}

void note_step(WorkPhase phase, std::string_view step, std::string_view function) noexcept {
    note(phase, [&](CrashPage::Page& page) {
        put_text(step, page.step);
        put_text(function, page.function);
    });
}

void note_idle() noexcept {
    note(WorkPhase::kNone, [](CrashPage::Page&) {});
}

void note_faulty_buffer(std::string_view buffer) noexcept {
    CrashPage::Page* page = g_page.load(std::memory_order_relaxed);
    if (page == nullptr) return;
    put_text(buffer, page->buffer);
    page->has_buffer.store(true, std::memory_order_release);
}

CrashPage::~CrashPage() {
    if (page_ != nullptr) ::munmap(page_, sizeof(Page));
}

CrashPage::CrashPage(CrashPage&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

CrashPage& CrashPage::operator=(CrashPage&& other) noexcept {
    std::swap(page_, other.page_);
    return *this;
}

Result<CrashPage> CrashPage::create() {
    void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return failed(std::string("cannot map a page for a worker: ") + std::strerror(errno) +
                      "; run fewer at a time (--jobs 1) or free memory");
    }
    return CrashPage(new (memory) Page{});
}

void CrashPage::adopt() const { g_page.store(page_, std::memory_order_relaxed); }

void CrashPage::begin() {
    page_->phase.store(WorkPhase::kNone, std::memory_order_release);
    page_->has_buffer = false;
    page_->out_of_memory = false;
    page_->begun = false;
}

CrashContext CrashPage::read() const {
    CrashContext context;
    context.phase = page_->phase.load(std::memory_order_acquire);
    if (context.phase > WorkPhase::kInOtherCall) context.phase = WorkPhase::kNone;
    if (context.phase == WorkPhase::kStage) context.stage = text_in(page_->stage);
    if (context.phase > WorkPhase::kStage) {
        context.step = text_in(page_->step);
        context.function = text_in(page_->function);
    }
    if (page_->has_buffer) context.buffer = text_in(page_->buffer);
    return context;
}

void CrashPage::note_out_of_memory() noexcept {
    if (CrashPage::Page* page = g_page.load(std::memory_order_relaxed)) page->out_of_memory = true;
}

void CrashPage::note_lost_socket() noexcept {
    if (CrashPage::Page* page = g_page.load(std::memory_order_relaxed)) page->lost_socket = true;
}

void CrashPage::note_begun() noexcept {
    if (CrashPage::Page* page = g_page.load(std::memory_order_relaxed)) page->begun = true;
}

bool CrashPage::out_of_memory() const { return page_->out_of_memory; }
bool CrashPage::lost_socket() const { return page_->lost_socket; }
bool CrashPage::begun() const { return page_->begun; }

}  // namespace diopi
