#include <map>
#include <string>
#include <utility>

#include "report/row_sum.hpp"

namespace diopi {

namespace {

/// The row of calls without a layer.
constexpr const char* kNoLayer = "(no layer)";

/// The layers around a call, the outermost first: "a", "a.b", "a.b.c".
std::vector<std::string> path_of(const std::string& layer) {
    std::vector<std::string> path;
    for (size_t dot = layer.find('.'); dot != std::string::npos; dot = layer.find('.', dot + 1)) {
        path.push_back(layer.substr(0, dot));
    }
    path.push_back(layer.empty() ? kNoLayer : layer);
    return path;
}

/// A call that only encloses others: the step of a capture.
bool is_enclosing(const ProfiledCall& call) { return call.function.empty() && call.parent < 0 && call.layer.empty(); }

class LayerTree {
 public:
    explicit LayerTree(const Profile& profile) : profile_(profile), chains_(profile.calls.size()) {}

    void add(size_t i, const CallFigures& own, const SpeedComparison* comparison) {
        const ProfiledCall& call = profile_.calls[i];
        chains_[i] = chain_of(call);
        nodes_[chains_[i].back()].sum.add_self(call, own);
        for (const size_t node : chains_[i]) {
            RowSum& sum = nodes_[node].sum;
            if (!is_enclosing(call)) sum.add_call(call, own, profile_.roofs, comparison);
            // Otherwise an enclosing call has already added the time of both.
            if (is_inside(i, node)) continue;
            sum.add_total(call, own);
            sum.add_time(own);
        }
    }

    [[nodiscard]] std::vector<ProfileRow> rows() const {
        std::vector<ProfileRow> rows;
        for (const size_t root : roots_) append(root, 0, rows);
        return rows;
    }

 private:
    struct Node {
        RowSum sum;
        std::vector<size_t> children;
    };

    /// The nodes around a call, the outermost first; missing ones are created.
    std::vector<size_t> chain_of(const ProfiledCall& call) {
        if (is_enclosing(call)) return {node(-1, call.name)};
        std::vector<size_t> chain;
        const auto outer = static_cast<size_t>(call.parent);
        if (call.parent >= 0 && !chains_[outer].empty()) chain = {chains_[outer].front()};
        for (const std::string& layer : path_of(call.layer)) {
            chain.push_back(node(chain.empty() ? -1 : static_cast<int64_t>(chain.back()), layer));
        }
        return chain;
    }

    size_t node(int64_t parent, const std::string& name) {
        const auto [at, is_new] = known_.try_emplace({parent, name}, nodes_.size());
        if (!is_new) return at->second;
        nodes_.emplace_back().sum.row.name = name;
        (parent < 0 ? roots_ : nodes_[static_cast<size_t>(parent)].children).push_back(at->second);
        return at->second;
    }

    /// Whether the node already counts a call around call `i`.
    [[nodiscard]] bool is_inside(size_t i, size_t node) const {
        for (int64_t outer = profile_.calls[i].parent; outer >= 0;
             outer = profile_.calls[static_cast<size_t>(outer)].parent) {
            for (const size_t its : chains_[static_cast<size_t>(outer)]) {
                if (its == node) return true;
            }
        }
        return false;
    }

    void append(size_t node, int depth, std::vector<ProfileRow>& rows) const {
        ProfileRow row = nodes_[node].sum.finish(profile_.roofs);
        row.depth = depth;
        row.rank = rows.size();
        rows.push_back(std::move(row));
        for (const size_t child : nodes_[node].children) append(child, depth + 1, rows);
    }

    const Profile& profile_;
    std::vector<Node> nodes_;
    std::vector<size_t> roots_;
    std::map<std::pair<int64_t, std::string>, size_t> known_;
    std::vector<std::vector<size_t>> chains_;  ///< by call
};

}  // namespace

std::vector<ProfileRow> layer_rows(const Profile& profile,
                                   const std::vector<std::optional<SpeedComparison>>& comparisons) {
    const std::vector<CallFigures> figures = figures_of(profile);
    LayerTree tree(profile);
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const ProfiledCall& call = profile.calls[i];
        if (call.error.empty() && !call.runs.empty()) tree.add(i, figures[i], comparison_of(comparisons, i));
    }
    return tree.rows();
}

}  // namespace diopi
