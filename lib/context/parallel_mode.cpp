#include <plumb/context/parallel_mode.h>

#include <optional>

#include <fmt/format.h>

#include <plumb/core/error.h>

namespace plumb {

namespace {

struct ModeName {
    ParallelMode mode;
    std::string_view word;
    std::string_view manifest;
};

constexpr std::array kModeNames = {
    ModeName{ParallelMode::data, "data", "DATA_PARALLEL"},
    ModeName{ParallelMode::tensor, "tensor", "TENSOR_PARALLEL"},
    ModeName{ParallelMode::pipeline, "pipeline", "PIPELINE_PARALLEL"},
    ModeName{ParallelMode::sequence, "sequence", "SEQUENCE_PARALLEL"},
    ModeName{ParallelMode::context, "context", "CONTEXT_PARALLEL"},
    ModeName{ParallelMode::expert, "expert", "EXPERT_PARALLEL"},
    ModeName{ParallelMode::global, "global", "GLOBAL"},
    ModeName{ParallelMode::intra_node, "intra_node", "INTRA_NODE"},
    ModeName{ParallelMode::inter_node, "inter_node", "INTER_NODE"},
};

template <class Spelling>
std::string join_names(ParallelMode mode, Spelling&& spelling) {
    std::string text;
    for (const auto& entry : kModeNames) {
        if (contains(mode, entry.mode)) {
            text += text.empty() ? "" : "+";
            text += spelling(entry);
        }
    }
    return text;
}

std::optional<ParallelMode> find_mode(std::string_view word) {
    for (const auto& entry : kModeNames) {
        if (word == entry.word || word == entry.manifest) {
            return entry.mode;
        }
    }
    return {};
}

bool is_axis(ParallelMode mode) {
    for (const auto axis : kAxes) {
        if (mode == axis) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::string to_string(ParallelMode mode) {
    return join_names(mode, [](const ModeName& entry) { return entry.word; });
}

std::string manifest_name(ParallelMode mode) {
    return join_names(mode, [](const ModeName& entry) { return entry.manifest; });
}

ParallelMode parallel_mode_from_name(std::string_view text) {
    std::optional<ParallelMode> mode;
    std::string_view rest = text;
    bool valid = true;
    while (valid) {
        const auto plus = rest.find('+');
        const auto part = find_mode(rest.substr(0, plus));
        const bool joined = mode.has_value() || plus != std::string_view::npos;
        valid = part && !(joined && !is_axis(*part)) && !(mode && contains(*mode, *part));
        if (valid) {
            mode = mode ? *mode + *part : *part;
        }
        if (plus == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(plus + 1);
    }
    if (!valid) {
        throw ArgumentError(
            fmt::format("mode is '{}', allowed are global, data, tensor, pipeline, sequence, context, "
                        "expert, intra_node, inter_node, "
                        "unions of different axes such as data+sequence, and the manifest spellings such as "
                        "SEQUENCE_PARALLEL",
                        text));
    }
    return *mode;
}

}  // namespace plumb
