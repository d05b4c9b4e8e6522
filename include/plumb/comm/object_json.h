#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <plumb/comm/object_list.h>

namespace plumb {

/// JSON values travel as CBOR: what arrives compares equal, numbers, binary values, NaN and infinities
/// included, and has the key order of its type. A discarded value (the result of a failed parse) has no CBOR
/// form: from_bytes throws for it.
template <class Json>
struct JsonBytes {
    static constexpr std::string_view kName = "json";
    static std::vector<std::uint8_t> to_bytes(const Json& value) { return Json::to_cbor(value); }
    static Json from_bytes(std::span<const std::byte> bytes) {
        const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
        return Json::from_cbor(data, data + bytes.size(), true, true, Json::cbor_tag_handler_t::store);
    }
};

template <>
struct ObjectBytes<nlohmann::json> : JsonBytes<nlohmann::json> {};
template <>
struct ObjectBytes<nlohmann::ordered_json> : JsonBytes<nlohmann::ordered_json> {};

}  // namespace plumb
