#include <plumb/comm/all_reduce_dict.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/mpi/operation.h>

#include "comm/launch.h"
#include "comm/ordered_reduction.h"
#include "comm/reduce_op.h"
#include "tensor/visit.h"

namespace plumb {

std::string_view name(KeyMatch match) {
    return match == KeyMatch::strict ? "strict" : "by_position";
}

KeyMatch key_match_from_name(std::string_view text) {
    for (const KeyMatch match : {KeyMatch::strict, KeyMatch::by_position}) {
        if (text == name(match)) {
            return match;
        }
    }
    throw ArgumentError(fmt::format("key match is '{}', allowed are strict, by_position", text));
}

namespace {

/// For messages: control characters (a NUL would end the text), quotes and backslashes are spelled \xNN, so
/// that different keys stay different.
std::string spelled(std::string_view key) {
    std::string text;
    for (const char c : key) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f || c == '\'' || c == '\\') {
            text += fmt::format("\\x{:02x}", byte);
        } else {
            text += c;
        }
    }
    return text;
}

template <class T>
T to_integer(const std::string& key, double value) {
    using Limits = std::numeric_limits<T>;
    const double whole = std::trunc(value);
    // Both ends are powers of two, or 0, and so exact; the comparison refuses NaN.
    const double end = std::ldexp(1.0, Limits::digits);
    if (!(whole >= static_cast<double>(Limits::min()) && whole < end)) {
        throw ArgumentError(
            fmt::format("values has {} under key '{}', which {} cannot represent, allowed "
                        "are {} … {}",
                        value, spelled(key), name(dtype_of<T>()), Limits::min(), Limits::max()));
    }
    return static_cast<T>(whole);
}

template <class T>
T to_element(const std::string& key, double value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value != 0;
    } else if constexpr (std::is_integral_v<T>) {
        return to_integer<T>(key, value);
    } else if constexpr (detail::is_narrow_float<T>) {
        return static_cast<T>(detail::to_float_odd(value));
    } else if constexpr (detail::is_complex_type<T>) {
        throw Error("all_reduce_dict: complex values");  // refused before
    } else {
        return static_cast<T>(value);
    }
}

template <class T>
double to_double(const T& element) {
    if constexpr (detail::is_narrow_float<T>) {
        return static_cast<double>(static_cast<float>(element));
    } else if constexpr (detail::is_complex_type<T>) {
        throw Error("all_reduce_dict: complex values");
    } else {
        return static_cast<double>(element);
    }
}

void to_elements(std::byte* out, const Dict& values, DType dtype) {
    detail::visit(dtype, [&]<class T>(detail::Tag<T>) {
        for (const auto& [key, value] : values) {
            detail::store(out, to_element<T>(key, value));
            out += sizeof(T);
        }
    });
}

void from_elements(Dict& values, const std::byte* in, DType dtype) {
    detail::visit(dtype, [&]<class T>(detail::Tag<T>) {
        for (auto& [key, value] : values) {
            value = to_double(detail::load<T>(in));
            in += sizeof(T);
        }
    });
}

void require_real(DType dtype) {
    if (is_complex(dtype)) {
        throw ArgumentError(
            fmt::format("dtype is {}, allowed are bool, integers and floating point", name(dtype)));
    }
}

class AllReduceDict final : public mpi::Operation, public Outcome<Dict> {
  public:
    AllReduceDict(Dict values, ReduceOp op, DType dtype, KeyMatch match)
        : values_(std::move(values)), op_(op), dtype_(dtype), match_(match) {}

    [[nodiscard]] std::string_view operation() const override { return "all_reduce_dict"; }
    [[nodiscard]] Dict result() const override { return values_; }

  private:
    void prepare() override {
        require_real(dtype_);
        comm::require_defined_for(op_, dtype_);
        const auto count = static_cast<std::int64_t>(values_.size());
        elements_ = Tensor::empty({count}, dtype_);
        to_elements(elements_.bytes(), values_, dtype_);
        if (match_ == KeyMatch::strict) {
            name_keys();
        }
        reduction_.prepare(channel(), {elements_.bytes(), elements_.bytes(), count, dtype_}, op_, {});
    }

    void describe(mpi::Signature& signature) const override {
        signature.field("reduce", name(op_));
        signature.field("dtype", name(dtype_));
        signature.field("key match", name(match_));
        signature.field("number of keys", static_cast<std::int64_t>(values_.size()));
        // A field per key: one that a rank does not have is 'not given' there.
        for (const std::string& field : key_fields_) {
            signature.field(field, "given");
        }
    }

    Posted post(int step, mpi::RequestSet& requests) override {
        return reduction_.post(channel(), step, requests) ? Posted::more_to_come : Posted::all;
    }

    void complete() override {
        reduction_.complete();
        from_elements(values_, elements_.bytes(), dtype_);
    }

    void name_keys() {
        key_fields_.clear();
        for (const auto& [key, value] : values_) {
            key_fields_.push_back(fmt::format("key '{}'", spelled(key)));
        }
    }

    Dict values_;  // the caller's, then the result
    ReduceOp op_;
    DType dtype_;
    KeyMatch match_;
    std::vector<std::string> key_fields_;
    Tensor elements_;  // in the order of the keys, reduced in place
    comm::OrderedReduction reduction_;
};

}  // namespace

Async<Dict> all_reduce_dict_async(const Dict& values, GroupRef group, ReduceOp op, DType dtype,
                                  KeyMatch match) {
    return comm::launch<Dict>(*group, std::make_shared<AllReduceDict>(values, op, dtype, match));
}

Dict all_reduce_dict(const Dict& values, GroupRef group, ReduceOp op, DType dtype, KeyMatch match) {
    return all_reduce_dict_async(values, group, op, dtype, match).wait();
}

}  // namespace plumb
