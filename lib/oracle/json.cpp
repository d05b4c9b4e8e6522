#include "oracle/json.h"

#include <set>

#include <fmt/format.h>

#include <plumb/oracle/manifest.h>

#include "oracle/file.h"

namespace plumb::oracle {

using nlohmann::json;

namespace {

/// Watches the parser: it stops at a limit or a repeated key, both of which the parser itself lets pass.
class Guard {
  public:
    explicit Guard(const std::string& name) : name_(name) {}

    bool operator()(int depth, json::parse_event_t event, const json& parsed) {
        if (depth > static_cast<int>(kMaxJsonDepth))
            throw FileError(fmt::format("{}: nested deeper than {} levels", name_, kMaxJsonDepth));
        switch (event) {
            case json::parse_event_t::object_start:
                keys_.emplace_back();
                count();
                break;
            case json::parse_event_t::object_end:
                keys_.pop_back();
                break;
            case json::parse_event_t::key:
                if (!keys_.back().insert(parsed.get_ref<const std::string&>()).second)
                    throw FileError(fmt::format("{}: key \"{}\" occurs twice in one object", name_,
                                                printable(parsed.get_ref<const std::string&>())));
                break;
            case json::parse_event_t::array_start:
            case json::parse_event_t::value:
                count();
                break;
            case json::parse_event_t::array_end:
                break;
        }
        return true;
    }

  private:
    void count() {
        if (++values_ > kMaxJsonValues)
            throw FileError(fmt::format("{}: more than {} JSON values", name_, kMaxJsonValues));
    }

    std::string name_;
    std::size_t values_ = 0;
    std::vector<std::set<std::string>> keys_;
};

}  // namespace

json parse_json(std::string_view text, const std::string& name) {
    // The parser takes a NUL for the end of its input and would not look at what follows.
    if (const auto nul = text.find('\0'); nul != std::string_view::npos)
        throw FileError(fmt::format("{}: not valid JSON: a NUL at byte {}", name, nul));
    try {
        Guard guard(name);
        return json::parse(text.begin(), text.end(),
                           [&guard](int depth, json::parse_event_t event, json& parsed) {
                               return guard(depth, event, parsed);
                           });
    } catch (const json::exception& error) {
        std::string_view message = error.what();
        if (const auto end = message.find("] "); end != std::string_view::npos)
            message.remove_prefix(end + 2);
        throw FileError(fmt::format("{}: not valid JSON: {}", name, printable(message)));
    }
}

JsonNode JsonNode::child(const json& value, const std::string& key) const {
    return {value, file_, place_.empty() ? printable(key) : place_ + "." + printable(key)};
}

void JsonNode::fail(const std::string& message) const {
    if (place_.empty()) throw FileError(fmt::format("{}: {}", file_, message));
    throw FileError(fmt::format("{}: {}: {}", file_, place_, message));
}

void JsonNode::require(bool is_right, const char* wanted) const {
    if (!is_right) fail(fmt::format("{} expected, found {}", wanted, value_->type_name()));
}

JsonNode JsonNode::at(const std::string& key) const {
    require(value_->is_object(), "an object");
    const auto found = value_->find(key);
    if (found == value_->end()) fail(fmt::format("\"{}\" is missing", key));
    return child(*found, key);
}

std::optional<JsonNode> JsonNode::find(const std::string& key) const {
    require(value_->is_object(), "an object");
    const auto found = value_->find(key);
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return child(*found, key);
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const {
    require(value_->is_object(), "an object");
    std::vector<std::pair<std::string, JsonNode>> out;
    out.reserve(value_->size());
    for (auto item = value_->begin(); item != value_->end(); ++item)
        out.emplace_back(item.key(), child(item.value(), item.key()));
    return out;
}

std::vector<JsonNode> JsonNode::items() const {
    require(value_->is_array(), "a list");
    std::vector<JsonNode> out;
    out.reserve(value_->size());
    for (const json& item : *value_)
        out.emplace_back(item, file_, fmt::format("{}[{}]", place_, out.size()));
    return out;
}

std::string JsonNode::text() const {
    require(value_->is_string(), "a string");
    return value_->get<std::string>();
}

bool JsonNode::boolean() const {
    require(value_->is_boolean(), "true or false");
    return value_->get<bool>();
}

std::int64_t JsonNode::integer(std::int64_t min, std::int64_t max) const {
    require(value_->is_number_integer(), "an integer");
    const bool fits = !value_->is_number_unsigned() ||
                      value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
    if (!fits) fail(fmt::format("{} is not in {} … {}", value_->get<std::uint64_t>(), min, max));
    const auto number = value_->get<std::int64_t>();
    if (number < min || number > max) fail(fmt::format("{} is not in {} … {}", number, min, max));
    return number;
}

int JsonNode::small_integer() const {
    return static_cast<int>(integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

}  // namespace plumb::oracle
