#include "worker/answer.hpp"

#include <utility>

#include "worker/message.hpp"

namespace diopi {

std::string pack_answer(const WorkAnswer& answer) {
    const Error& error = answer.status.error();
    return pack_message(answer.status.ok(), error.code, error.message, answer.warnings, answer.payload);
}

std::optional<WorkAnswer> unpack_answer(std::string_view bytes) {
    bool ok = false;
    Error error;
    WorkAnswer answer;
    if (!unpack_message(bytes, ok, error.code, error.message, answer.warnings, answer.payload)) return std::nullopt;
    if (!ok) answer.status = std::move(error);
    return answer;
}

}  // namespace diopi
