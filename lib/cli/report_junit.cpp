#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "cli/report.h"

namespace plumb::cli {

namespace {

/// Length of the UTF-8 character that `text` begins with, or 0 where it is none.
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    std::uint32_t code = first & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) return 0;
        code = code << 6U | (byte(i) & 0x3fU);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool in_xml =
        code < 0xd800 || (code >= 0xe000 && code < 0xfffe) || (code >= 0x10000 && code <= 0x10ffff);
    return overlong || !in_xml ? 0 : length;
}

/// For text and for attributes in double quotes. What XML cannot hold at all is written as \xNN.
std::string escaped(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const char first = text.front();
        const bool control = static_cast<unsigned char>(first) < 0x20 && first != '\n' && first != '\t';
        if (length == 0 || control) {
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(first));
        } else if (first == '&') {
            result += "&amp;";
        } else if (first == '<') {
            result += "&lt;";
        } else if (first == '>') {
            result += "&gt;";
        } else if (first == '"') {
            result += "&quot;";
        } else if (first == '\n') {
            result += "&#10;";
        } else if (first == '\t') {
            result += "&#9;";
        } else {
            result += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return result;
}

std::string counts(const Totals& sum) {
    return fmt::format(R"(tests="{}" failures="{}" errors="0" skipped="{}" time="{:.6f}")", sum.cases(),
                       sum.failed, sum.skipped, sum.seconds);
}

std::string testcase(const Report& report, const CaseResult& result) {
    std::string text = fmt::format(R"(  <testcase classname="plumb.{}.np{}.{}" name="{}" time="{:.6f}")",
                                   escaped(report.command), report.ranks, escaped(result.op),
                                   escaped(result.id), result.seconds);
    switch (result.status) {
        case Status::passed:
            return text + "/>\n";
        case Status::skipped:
            return text +
                   fmt::format(">\n   <skipped message=\"{}\"/>\n  </testcase>\n", escaped(result.reason));
        case Status::failed:
            break;
    }
    std::string details = result.reason;
    for (const Finding& finding : result.findings)
        details += (details.empty() ? "" : "\n") + describe(finding);
    return text + fmt::format(">\n   <failure message=\"{}\">{}</failure>\n  </testcase>\n",
                              escaped(describe(result)), escaped(details));
}

}  // namespace

std::string to_junit(const Report& report) {
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    text +=
        fmt::format("<testsuites name=\"plumb {}\" {}>\n", escaped(report.command), counts(report.totals()));
    for (const auto& [op, sum] : report.per_op()) {
        text += fmt::format(" <testsuite name=\"{}\" {}>\n", escaped(op), counts(sum));
        for (const CaseResult& result : report.cases)
            if (result.op == op) text += testcase(report, result);
        text += " </testsuite>\n";
    }
    return text + "</testsuites>\n";
}

}  // namespace plumb::cli
