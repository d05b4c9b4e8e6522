#include "cli/verify_messages.h"

#include <exception>
#include <string>

#include <fmt/format.h>

#include <plumb/comm/object_list.h>
#include <plumb/comm/send_recv.h>
#include <plumb/core/error.h>

namespace plumb::cli {

namespace {

Tensor drawn(const VerifySpec& spec, int position, std::uint64_t key) {
    const Shape& shape = spec.variant.shape;
    const bool repeats = spec.layout == Layout::expanded && shape.ndim() > 0 && shape[0] > 0;
    const Tensor tensor = draw_tensor(sub_key(key, static_cast<std::uint64_t>(position)),
                                      repeats ? shape.with(0, 1) : shape, spec.dtype, spec.data);
    return repeats ? tensor.expand(shape).clone() : tensor;
}

/// Every rank sends to the next of the ring and receives from the one before.
void exchange_in_ring(const VerifySpec& spec, const Group& group, const Tensor& sent,
                      const Tensor& received) {
    const int n = group.size();
    const int me = group.rank().value;
    const GroupRank next((me + 1) % n);
    const GroupRank previous((me + n - 1) % n);
    constexpr Tag kTag(3);
    if (spec.target == Target::fresh) {
        const std::vector<P2POp> batch = {{P2PKind::send, sent, next, kTag},
                                          {P2PKind::recv, received, previous, kTag}};
        if (spec.timing == Timing::async)
            batch_send_recv_async(batch, group).wait();
        else
            batch_send_recv(batch, group);
        return;
    }
    auto arriving = recv_async(received, previous, group, kTag);
    if (spec.timing == Timing::async)
        send_async(sent, next, group, kTag).wait();
    else
        send(sent, next, group, kTag);
    arriving.wait();
}

void check_ring(const VerifySpec& spec, const Group& group, std::uint64_t key, RankOutcome& outcome) {
    const GlobalRank rank = group.global_rank(group.rank());
    const int n = group.size();
    const int me = group.rank().value;
    const Placed sent = Placed::holding(drawn(spec, me, key), spec.layout);
    const Placed received = Placed::blank(spec.variant.shape, spec.dtype, spec.output_layout);
    exchange_in_ring(spec, group, sent.tensor(), received.tensor());
    if (!sent.unchanged()) outcome.wrong(rank, "in", "was changed by the call");
    if (!received.outside_unchanged())
        outcome.wrong(rank, "out", "the memory between its elements was written to");
    const auto result = oracle::compare(drawn(spec, (me + n - 1) % n, key), received.tensor());
    if (!result.ok())
        outcome.findings.push_back({rank.value, "out", result.index, result.expected, result.got, result.ulp,
                                    result.wrong, result.elements, ""});
}

/// Texts of drawn bytes; text k has as many as extent k of the shape says.
std::vector<std::string> drawn_texts(const VerifySpec& spec, int position, std::uint64_t key) {
    std::vector<std::string> texts;
    std::uint64_t index = 0;
    for (const std::int64_t length : spec.variant.shape) {
        std::string& text = texts.emplace_back();
        for (std::int64_t i = 0; i < length; ++i)
            text +=
                static_cast<char>(draw(sub_key(key, static_cast<std::uint64_t>(position)), index++) & 0xffU);
    }
    return texts;
}

void check_objects(const VerifySpec& spec, const Group& group, std::uint64_t key, RankOutcome& outcome) {
    const GlobalRank rank = group.global_rank(group.rank());
    const GroupRank root(spec.variant.root == RootPlace::first ? 0 : group.size() - 1);
    std::vector<std::string> texts = drawn_texts(spec, group.rank().value, key);
    if (spec.timing == Timing::async)
        texts = broadcast_object_list_async(texts, root, group).wait();
    else
        broadcast_object_list(texts, root, group);
    const std::vector<std::string> expected = drawn_texts(spec, root.value, key);
    if (texts.size() != expected.size())
        outcome.wrong(rank, "out", fmt::format("{} objects, expected {}", texts.size(), expected.size()));
    for (std::size_t k = 0; k < texts.size() && k < expected.size(); ++k)
        if (texts[k] != expected[k])
            outcome.wrong(rank, fmt::format("out_{}", k),
                          fmt::format("{} bytes, expected {} others", texts[k].size(), expected[k].size()));
}

}  // namespace

const std::vector<MessageDriver>& message_drivers() {
    static const std::vector<MessageDriver> all = {
        {{"send_recv", nullptr}, check_ring},
        {{"broadcast_object_list", nullptr, nullptr, nullptr, {Target::fresh}}, check_objects}};
    return all;
}

std::vector<Variant> message_variants(const VerifySpec& spec) {
    if (spec.driver->op == "send_recv") {
        std::vector<Variant> list = variants_of("broadcast", spec.dtype);
        std::erase_if(list, [](const Variant& variant) { return variant.root == RootPlace::last; });
        for (Variant& variant : list)
            variant.label.replace(0, variant.label.find('-'), "ring");
        return list;
    }
    if (spec.dtype != DType::u8) return {};
    std::vector<Variant> list;
    for (const Shape& lengths : {Shape{}, Shape{0}, Shape{5, 0, 300}})
        for (const RootPlace root : {RootPlace::first, RootPlace::last}) {
            Variant& variant = list.emplace_back();
            variant.label =
                fmt::format("{}-{}objects", root == RootPlace::first ? "first" : "last", lengths.ndim());
            variant.shape = lengths;
            variant.root = root;
        }
    return list;
}

}  // namespace plumb::cli
