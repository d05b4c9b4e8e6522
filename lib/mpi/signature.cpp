#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plumb/core/error.h>
#include <plumb/mpi/agreement.h>

namespace plumb::mpi {

std::string_view name(CheckLevel level) {
    switch (level) {
        case CheckLevel::off:
            return "off";
        case CheckLevel::local:
            return "local";
        case CheckLevel::agree:
            return "agree";
    }
    return "?";
}

CheckLevel check_level_from_name(std::string_view text) {
    for (const auto level : {CheckLevel::off, CheckLevel::local, CheckLevel::agree}) {
        if (text == name(level)) {
            return level;
        }
    }
    throw ArgumentError(fmt::format("check level is '{}', allowed are off, local, agree", text));
}

namespace {

/// The finaliser of splitmix64: a bijection that spreads every input bit.
constexpr std::uint64_t spread(std::uint64_t x) noexcept {
    x ^= x >> 30U;
    x *= 0xbf58476d1ce4e5b9U;
    x ^= x >> 27U;
    x *= 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
}

std::uint64_t pair_hash(int from, int to, std::int64_t amount) noexcept {
    if (amount == 0) {
        return 0;  // as if nothing had been said
    }
    const auto pair = (static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to);
    return spread(spread(pair + 0x9e3779b97f4a7c15U) ^ static_cast<std::uint64_t>(amount));
}

void put(std::string& out, std::int64_t value) {
    std::array<char, sizeof value> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    out.append(bytes.data(), bytes.size());
}

void put(std::string& out, std::string_view text) {
    put(out, static_cast<std::int64_t>(text.size()));
    out.append(text);
}

/// Reads what `put` wrote. The bytes come from a peer running the same code, so they are trusted.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    std::int64_t number() {
        std::int64_t value = 0;
        std::memcpy(&value, bytes_.data(), sizeof value);
        bytes_.remove_prefix(sizeof value);
        return value;
    }
    std::string text() {
        const auto length = static_cast<std::size_t>(number());
        std::string value(bytes_.substr(0, length));
        bytes_.remove_prefix(length);
        return value;
    }

  private:
    std::string_view bytes_;
};

}  // namespace

void Signature::mix(std::uint64_t word) noexcept {
    hash_ = spread(hash_ ^ word) + 0x9e3779b97f4a7c15U;
}

void Signature::mix(std::string_view text) noexcept {
    mix(static_cast<std::uint64_t>(text.size()));
    while (!text.empty()) {
        std::uint64_t word = 0;
        const std::size_t length = std::min(text.size(), sizeof word);
        std::memcpy(&word, text.data(), length);
        mix(word);
        text.remove_prefix(length);
    }
}

void Signature::field(std::string_view name, std::string_view value) {
    if (form_ == Form::hash) {
        mix(name);
        mix(value);
    } else {
        fields_.emplace_back(name, value);
    }
}

void Signature::field(std::string_view name, std::int64_t value) {
    if (form_ == Form::hash) {
        mix(name);
        mix(static_cast<std::uint64_t>(value));
    } else {
        fields_.emplace_back(name, fmt::format("{}", value));
    }
}

void Signature::field(std::string_view name, std::span<const std::int64_t> values) {
    if (form_ == Form::hash) {
        mix(name);
        mix(static_cast<std::uint64_t>(values.size()));
        for (const auto value : values) {
            mix(static_cast<std::uint64_t>(value));
        }
    } else {
        fields_.emplace_back(name, fmt::format("[{}]", fmt::join(values, ", ")));
    }
}

void Signature::sends(int peer, std::int64_t amount) {
    pair_balance_ += pair_hash(rank_, peer, amount);
    if (form_ == Form::text) {
        sends_.emplace_back(peer, amount);
    }
}

void Signature::expects(int peer, std::int64_t amount) {
    pair_balance_ -= pair_hash(peer, rank_, amount);
    if (form_ == Form::text) {
        expects_.emplace_back(peer, amount);
    }
}

void Signature::fail(std::string_view message) {
    failed_ = true;
    if (form_ == Form::text) {
        error_ = message;
    }
}

std::string Signature::serialise() const {
    std::string out;
    put(out, failed_ ? 1 : 0);
    put(out, std::string_view(error_));
    put(out, static_cast<std::int64_t>(fields_.size()));
    for (const auto& [name, value] : fields_) {
        put(out, std::string_view(name));
        put(out, std::string_view(value));
    }
    for (const auto* amounts : {&sends_, &expects_}) {
        put(out, static_cast<std::int64_t>(amounts->size()));
        for (const auto& [peer, amount] : *amounts) {
            put(out, peer);
            put(out, amount);
        }
    }
    return out;
}

Signature Signature::deserialise(std::string_view bytes, int rank) {
    Signature signature(Form::text, rank);
    Reader reader(bytes);
    signature.failed_ = reader.number() != 0;
    signature.error_ = reader.text();
    const auto fields = reader.number();
    for (std::int64_t i = 0; i < fields; ++i) {
        auto name = reader.text();
        auto value = reader.text();
        signature.fields_.emplace_back(std::move(name), std::move(value));
    }
    for (auto* amounts : {&signature.sends_, &signature.expects_}) {
        const auto count = reader.number();
        for (std::int64_t i = 0; i < count; ++i) {
            const auto peer = static_cast<int>(reader.number());
            amounts->emplace_back(peer, reader.number());
        }
    }
    return signature;
}

}  // namespace plumb::mpi
