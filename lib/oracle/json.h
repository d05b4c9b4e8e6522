#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <plumb/core/error.h>

namespace plumb::oracle {

/// Parses JSON from an untrusted file. Throws FileError "name: …" for text that is not JSON or not UTF-8,
/// duplicate keys, more than kMaxJsonDepth nested values or kMaxJsonValues values.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& name);

/// A value of a parsed file that knows where it stands, so that each wrong type is reported with its place.
/// Refers to the document, which must outlive it. All members throw FileError "file: place: …".
class JsonNode {
  public:
    JsonNode(const nlohmann::json& value, std::string file, std::string place)
        : value_(&value), file_(std::move(file)), place_(std::move(place)) {}

    [[nodiscard]] JsonNode at(const std::string& key) const;
    /// Absent keys and null give nothing.
    [[nodiscard]] std::optional<JsonNode> find(const std::string& key) const;
    [[nodiscard]] std::vector<std::pair<std::string, JsonNode>> members() const;
    [[nodiscard]] std::vector<JsonNode> items() const;

    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool boolean() const;
    /// An integer in min … max (no fraction, no exponent).
    [[nodiscard]] std::int64_t integer(std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const;
    [[nodiscard]] int small_integer() const;

    [[noreturn]] void fail(const std::string& message) const;
    [[nodiscard]] const std::string& place() const noexcept { return place_; }
    /// The same value with a name for messages, e.g. with the case id.
    [[nodiscard]] JsonNode called(std::string place) const { return {*value_, file_, std::move(place)}; }

  private:
    void require(bool is_right, const char* wanted) const;
    [[nodiscard]] JsonNode child(const nlohmann::json& value, const std::string& key) const;

    const nlohmann::json* value_;
    std::string file_;
    std::string place_;
};

}  // namespace plumb::oracle
