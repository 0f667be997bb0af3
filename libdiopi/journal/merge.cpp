#include "journal/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "journal/case_order.hpp"
#include "journal/shard_label.hpp"

namespace diopi {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_with_journals(const std::string& folder, const std::string& but) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        const bool passed_over = fs::equivalent(entry.path(), but, ignored);
        if (!passed_over && fs::exists(journal_path(entry.path().string()), ignored)) found.push_back(entry.path());
    }
    std::ranges::sort(found, [](const fs::path& a, const fs::path& b) { return natural_less(a.native(), b.native()); });
    return found;
}

/// The journals' paths for one word of the command line.
Result<std::vector<std::string>> journals_at(const std::string& place, const std::string& but) {
    std::error_code ignored;
    if (!fs::exists(place, ignored))
        return bad_input("there is nothing at " + place + "; name the shards' run folders");
    if (!fs::is_directory(place, ignored)) return std::vector<std::string>{place};
    if (fs::exists(journal_path(place), ignored)) return std::vector<std::string>{journal_path(place)};
    std::vector<std::string> paths;
    for (const fs::path& folder : folders_with_journals(place, but)) paths.push_back(journal_path(folder.string()));
    if (!paths.empty()) return paths;
    return bad_input("there is no journal in " + place +
                     " nor in a folder in it; name the shards' run folders (--run)");
}

Status check_one(const NamedJournal& named) {
    const RunHeader& header = named.journal.header;
    if (header.shard.empty()) {
        return bad_input(named.path + " is of a whole run, not of a shard; diopi report --run shows it as it is");
    }
    const auto shard = parse_shard(header.shard);
    if (shard.ok() && !header.selection.empty()) return {};
    return bad_input(named.path + " has a damaged header; run its shard again");
}

/// Checks that two journals are shards of one run; the message names the journals as the command line does.
Status check_pair(const NamedJournal& a, const NamedJournal& b) {
    const RunHeader& x = a.journal.header;
    const RunHeader& y = b.journal.header;
    const auto shards = [](const RunHeader& header) { return std::to_string(parse_shard(header.shard)->count); };
    const auto selection = [](const RunHeader& header) {
        return fmt::format("{} cases (checksum {})", header.selection_cases, header.selection);
    };
    const auto options = [](const RunHeader& header) { return "'" + header.repeat + "'"; };
    const std::array<std::array<std::string, 3>, 6> traits = {{
        {"backend", x.backend, y.backend},
        {"seed", std::to_string(x.seed), std::to_string(y.seed)},
        {"options", options(x), options(y)},
        {"checksum of the device configuration", x.device_config, y.device_config},
        {"number of shards", shards(x), shards(y)},
        {"selection", selection(x), selection(y)},
    }};
    for (const auto& [trait, of_x, of_y] : traits) {
        if (of_x == of_y) continue;
        return bad_input(fmt::format("{} and {} are not of one run: {} {} and {}; merge the shards of one run", a.path,
                                     b.path, trait, of_x, of_y));
    }
    return {};
}

int64_t unfinished(const Journal& journal) {
    return journal.header.cases - static_cast<int64_t>(journal.results.size());
}

/// The case that the two journals of one shard judge differently, and its verdicts; empty when there is none.
std::string difference(const Journal& a, const Journal& b) {
    std::unordered_map<std::string_view, Verdict> verdicts;
    for (const CaseResult& result : a.results) verdicts.emplace(result.case_id, result.verdict);
    for (const CaseResult& result : b.results) {
        const auto found = verdicts.find(result.case_id);
        if (found == verdicts.end() || found->second == result.verdict) continue;
        return fmt::format("{} {} and {}", result.case_id, name(found->second), name(result.verdict));
    }
    return {};
}

class Merger {
 public:
    Result<Merge> run(std::vector<NamedJournal> shards) {
        for (const NamedJournal& named : shards) {
            if (Status s = check_one(named); !s.ok()) return s.error();
            if (Status s = check_pair(shards.front(), named); !s.ok()) return s.error();
        }
        for (NamedJournal& named : shards) {
            if (Status s = take(std::move(named)); !s.ok()) return s.error();
        }
        if (shards_.empty()) return bad_input("there are no journals to merge; name the shards' run folders");
        find_gaps();
        if (Status s = join(); !s.ok()) return s.error();
        return std::move(merge_);
    }

 private:
    /// If a shard has two journals, the finished one counts, else the later one on the command line.
    Status take(NamedJournal named) {
        const auto& notes = named.journal.notes;
        merge_.notes.insert(merge_.notes.end(), notes.begin(), notes.end());
        const int64_t number = parse_shard(named.journal.header.shard)->number;
        const auto [at, is_new] = shards_.try_emplace(number);
        NamedJournal& former = at->second;
        if (is_new) {
            former = std::move(named);
            return {};
        }
        const std::string& shard = named.journal.header.shard;
        if (const std::string how = difference(former.journal, named.journal); !how.empty()) {
            return bad_input(fmt::format("{} and {} are both of shard {} and differ: {}; leave one of them out",
                                         former.path, named.path, shard, how));
        }
        if (unfinished(named.journal) > 0 && unfinished(former.journal) == 0) std::swap(former, named);
        merge_.notes.push_back(
            fmt::format("shard {} occurs twice: {} counts, {} does not", shard, named.path, former.path));
        former = std::move(named);
        return {};
    }

    void find_gaps() {
        const int64_t count = parse_shard(shards_.begin()->second.journal.header.shard)->count;
        int64_t number = 1;
        const auto missing_up_to = [&](int64_t end) {
            if (end == number) merge_.gaps.push_back(fmt::format("shard {}/{} is missing", number, count));
            if (end > number)
                merge_.gaps.push_back(fmt::format("shards {} to {} of {} are missing", number, end, count));
        };
        for (const auto& [present, named] : shards_) {
            missing_up_to(present - 1);
            number = present + 1;
            const RunHeader& header = named.journal.header;
            if (unfinished(named.journal) <= 0) continue;
            merge_.gaps.push_back(fmt::format("shard {} is not finished: {} of its {} cases have no result ({})",
                                              header.shard, unfinished(named.journal), header.cases, named.path));
        }
        missing_up_to(count);
    }

    Status join() {
        RunHeader& header = merge_.journal.header;
        header = shards_.begin()->second.journal.header;
        std::unordered_map<std::string, const NamedJournal*> owners;
        for (auto& [number, named] : shards_) {
            header.started = std::min(header.started, named.journal.header.started);
            for (CaseResult& result : named.journal.results) {
                const auto [owner, is_new] = owners.emplace(result.case_id, &named);
                if (!is_new)
                    return bad_cut(owner->second->path + " and " + named.path + " both have " + result.case_id);
                merge_.journal.results.push_back(std::move(result));
            }
        }
        header.shard.clear();
        header.cases = header.selection_cases;
        const auto found = static_cast<int64_t>(merge_.journal.results.size());
        if (merge_.gaps.empty() && found != header.cases) {
            return bad_cut(fmt::format("all shards are there, but only {} of the {} cases", found, header.cases));
        }
        sort_by_case(merge_.journal.results);
        return {};
    }

    static Status bad_cut(const std::string& what) {
        return bad_input(what + ": different builds of diopi partitioned the run; run all shards with one build");
    }

    std::map<int64_t, NamedJournal> shards_;
    Merge merge_;
};

}  // namespace

Result<std::vector<NamedJournal>> read_journals(const std::vector<std::string>& places, const std::string& but) {
    std::vector<NamedJournal> journals;
    for (const std::string& place : places) {
        const auto paths = journals_at(place, but);
        if (!paths.ok()) return paths.error();
        for (const std::string& path : *paths) {
            auto journal = read_journal(path);
            if (!journal.ok()) return journal.error();
            journals.push_back({path, std::move(*journal)});
        }
    }
    return journals;
}

Result<Merge> merge_journals(std::vector<NamedJournal> shards) { return Merger().run(std::move(shards)); }

Result<Merge> read_run(const std::string& place) {
    auto journals = read_journals({place}, "");
    if (!journals.ok()) return journals.error();
    if (journals->size() > 1) return merge_journals(std::move(*journals));
    Merge run;
    run.journal = std::move(journals->front().journal);
    run.notes = std::exchange(run.journal.notes, {});
    sort_by_case(run.journal.results);
    return run;
}

}  // namespace diopi
