#include "cli/groups.h"

#include <algorithm>

#include <fmt/format.h>

#include <plumb/core/error.h>

namespace plumb::cli {

namespace {

std::string spell(const std::vector<std::vector<GlobalRank>>& groups) {
    std::string text;
    for (const auto& group : groups) {
        text += '/';
        for (const GlobalRank rank : group)
            text += fmt::format("{},", rank.value);
    }
    return text;
}

/// Whether the mesh is one, of this many ranks: a case's mesh is only a label.
bool is_mesh(const std::string& text, int size) {
    try {
        return Mesh(text).size() == size;
    } catch (const ArgumentError&) {
        return false;
    }
}

}  // namespace

CommContext& Groups::context(const std::string& mesh) {
    const auto place = contexts_.find(mesh);
    if (place != contexts_.end()) return place->second;
    return contexts_.emplace(mesh, CommContext(mesh)).first->second;
}

const Group* Groups::of_mode(const oracle::Case& item) {
    const std::string mesh = oracle::mesh_on_command_line(item);
    if (!is_mesh(mesh, job_.size())) return nullptr;
    CommContext& made = context(mesh);
    const Group* group = nullptr;
    try {
        const ParallelMode mode = parallel_mode_from_name(oracle::mode_on_command_line(item.mode));
        if (made.has(mode)) group = &made.group(mode);
    } catch (const ArgumentError&) {
        return nullptr;  // the same text, the same on every rank
    }
    const auto index = item.group_of(made.global_rank());
    const bool same = group != nullptr && index && std::ranges::equal(item.groups[*index], group->ranks());
    return job_.all(same) ? group : nullptr;
}

const Group& Groups::of(const oracle::Case& item) {
    const std::string groups = spell(item.groups);
    const std::string key = item.mesh + ' ' + item.mode + ' ' + groups;
    if (const auto place = found_.find(key); place != found_.end()) return *place->second;
    const Group* group = of_mode(item);
    if (group == nullptr) {
        const auto other = found_.find(groups);
        group = other != found_.end()
                    ? other->second
                    : &context(fmt::format("data={}", job_.size())).init_groups(groups, item.groups);
        found_.insert_or_assign(groups, group);
    }
    found_.emplace(key, group);
    return *group;
}

}  // namespace plumb::cli
