/// The kept reports of a run as the window shows them, while their files change.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gui/kept_compare_view.hpp"
#include "gui/kept_fallback_view.hpp"
#include "gui/kept_profile_view.hpp"
#include "journal/kept_follower.hpp"

namespace diopi {

class KeptViews {
 public:
    /// Takes what a follower has read: a report in place of an older one of its file, or why it cannot be read.
    void take(std::vector<KeptFollower::Change> changes);
    /// Chooses what all views show.
    void choose(std::string_view filter);

    struct About {
        std::string path, written, environment, command;
    };
    template <class View>
    struct Shown {
        About about;
        View view;
    };
    /// Null if no file has such a report.
    [[nodiscard]] const Shown<KeptProfileView>* profile() const { return find<KeptProfileView>(); }
    [[nodiscard]] const Shown<KeptCompareView>* comparison() const { return find<KeptCompareView>(); }
    [[nodiscard]] const Shown<KeptFallbackView>* fallback() const { return find<KeptFallbackView>(); }
    [[nodiscard]] const Shown<KeptBisectView>* bisection() const { return find<KeptBisectView>(); }

    [[nodiscard]] bool empty() const { return files_.empty(); }
    /// Why files cannot be shown.
    [[nodiscard]] std::vector<std::string> problems() const;

 private:
    using File = std::variant<Error, Shown<KeptProfileView>, Shown<KeptCompareView>, Shown<KeptFallbackView>,
                              Shown<KeptBisectView>>;

    [[nodiscard]] File file_of(const std::string& path, const KeptReport& kept) const;
    template <class View>
    [[nodiscard]] const Shown<View>* find() const {
        for (const auto& [path, file] : files_) {
            if (const auto* const shown = std::get_if<Shown<View>>(&file)) return shown;
        }
        return nullptr;
    }

    std::map<std::string, File> files_;  ///< by path
    std::string filter_;
};

}  // namespace diopi
