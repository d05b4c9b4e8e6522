#include <plumb/context/mesh.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include <plumb/core/error.h>

namespace plumb {

namespace {

constexpr std::string_view kAllowed =
    "allowed is a list such as data=2,sequence=4 of different axes among data, "
    "tensor, pipeline, sequence, context, expert, with sizes >= 1";

ParallelMode axis_from_name(std::string_view word, std::string_view text) {
    for (const auto axis : kAxes) {
        if (word == to_string(axis)) {
            return axis;
        }
    }
    throw ArgumentError(fmt::format("mesh is '{}': '{}' is not an axis; {}", text, word, kAllowed));
}

int size_from_text(std::string_view word, std::string_view text) {
    int size = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    if (error != std::errc{} || end != word.data() + word.size() || size < 1) {
        throw ArgumentError(fmt::format("mesh is '{}': '{}' is not a size; {}", text, word, kAllowed));
    }
    return size;
}

}  // namespace

Mesh::Mesh(std::string_view text) {
    std::string_view rest = text;
    while (true) {
        const auto comma = rest.find(',');
        const std::string_view entry = rest.substr(0, comma);
        const auto equals = entry.find('=');
        if (equals == std::string_view::npos) {
            throw ArgumentError(
                fmt::format("mesh is '{}': '{}' is not axis=size; {}", text, entry, kAllowed));
        }
        axes_.push_back(
            {axis_from_name(entry.substr(0, equals), text), size_from_text(entry.substr(equals + 1), text)});
        if (comma == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(comma + 1);
    }
    validate();
}

Mesh::Mesh(std::vector<Axis> axes) : axes_(std::move(axes)) {
    validate();
}

void Mesh::validate() {
    if (axes_.empty()) {
        throw ArgumentError(fmt::format("mesh has no axes; {}", kAllowed));
    }
    std::int64_t product = 1;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        const auto& axis = axes_[i];
        if (std::find(kAxes.begin(), kAxes.end(), axis.mode) == kAxes.end()) {
            throw ArgumentError(fmt::format("mesh is '{}': '{}' is not an axis; {}", to_string(),
                                            plumb::to_string(axis.mode), kAllowed));
        }
        if (axis.size < 1) {
            throw ArgumentError(
                fmt::format("mesh is '{}': a size is {}; {}", to_string(), axis.size, kAllowed));
        }
        for (std::size_t k = 0; k < i; ++k) {
            if (axes_[k].mode == axis.mode) {
                throw ArgumentError(fmt::format("mesh is '{}': axis '{}' is named twice; {}", to_string(),
                                                plumb::to_string(axis.mode), kAllowed));
            }
        }
        product *= axis.size;
        if (product > std::numeric_limits<int>::max()) {
            throw ArgumentError(fmt::format("mesh is '{}': its product is beyond 2^31-1", to_string()));
        }
    }
    size_ = static_cast<int>(product);
}

int Mesh::extent(ParallelMode axis) const noexcept {
    for (const auto& entry : axes_) {
        if (entry.mode == axis) {
            return entry.size;
        }
    }
    return 1;
}

bool Mesh::has(ParallelMode axis) const noexcept {
    return std::any_of(axes_.begin(), axes_.end(), [&](const Axis& entry) { return entry.mode == axis; });
}

std::string Mesh::to_string() const {
    std::string text;
    for (const auto& axis : axes_) {
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", plumb::to_string(axis.mode), axis.size);
    }
    return text;
}

}  // namespace plumb
