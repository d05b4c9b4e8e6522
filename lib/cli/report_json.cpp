#include <nlohmann/json.hpp>

#include <plumb/core/version.h>

#include "cli/report.h"

namespace plumb::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json, int indent) {
    // Messages may hold anything, file names too: what is no UTF-8 is replaced.
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Finding& finding) {
    Json json{{"rank", finding.rank}, {"role", finding.role}};
    if (!finding.message.empty()) {
        json["message"] = finding.message;
        return json;
    }
    json["index"] = finding.index;
    json["expected"] = finding.expected;
    json["got"] = finding.got;
    if (finding.ulp) json["ulp"] = *finding.ulp;
    json["wrong"] = finding.wrong;
    json["elements"] = finding.elements;
    return json;
}

Finding finding_of(const Json& json) {
    Finding finding;
    finding.rank = json.at("rank").get<int>();
    finding.role = json.at("role").get<std::string>();
    finding.message = json.value("message", "");
    if (!finding.message.empty()) return finding;
    finding.index = json.at("index").get<std::vector<std::int64_t>>();
    finding.expected = json.at("expected").get<std::string>();
    finding.got = json.at("got").get<std::string>();
    if (json.contains("ulp")) finding.ulp = json.at("ulp").get<std::uint64_t>();
    finding.wrong = json.at("wrong").get<std::int64_t>();
    finding.elements = json.at("elements").get<std::int64_t>();
    return finding;
}

/// The first finding's fields stand in the case itself, where a script looks for them.
Json json_of(const CaseResult& result) {
    Json json{{"id", result.id}, {"op", result.op}, {"status", name(result.status)}};
    json["seconds"] = result.seconds;
    json["max_ulp"] = result.max_ulp;
    if (!result.reason.empty()) json["reason"] = result.reason;
    if (!result.rerun.empty() && result.status == Status::failed) json["rerun"] = result.rerun;
    if (!result.findings.empty()) {
        const Json first = json_of(result.findings.front());
        for (const auto& [key, value] : first.items())
            json[key] = value;
        json["findings"] = Json::array();
        for (const Finding& finding : result.findings)
            json["findings"].push_back(json_of(finding));
    }
    return json;
}

void add_totals(Json& json, const Totals& sum) {
    json["cases"] = sum.cases();
    json["passed"] = sum.passed;
    json["failed"] = sum.failed;
    json["skipped"] = sum.skipped;
    json["max_ulp"] = sum.max_ulp;
    json["seconds"] = sum.seconds;
}

}  // namespace

std::string to_text(const std::vector<Finding>& findings) {
    Json json = Json::array();
    for (const Finding& finding : findings)
        json.push_back(json_of(finding));
    return dump(json, -1);
}

std::vector<Finding> findings_from_text(const std::string& text) {
    std::vector<Finding> findings;
    for (const Json& entry : Json::parse(text))
        findings.push_back(finding_of(entry));
    return findings;
}

std::string to_json(const Report& report) {
    Json json{{"command", report.command}, {"version", kVersion}, {"ranks", report.ranks}};
    for (const auto& [key, value] : report.facts)
        json[key] = value;
    Json totals = Json::object();
    add_totals(totals, report.totals());
    json["totals"] = totals;
    json["ops"] = Json::array();
    for (const auto& [op, sum] : report.per_op()) {
        Json row{{"op", op}};
        add_totals(row, sum);
        json["ops"].push_back(row);
    }
    json["cases"] = Json::array();
    for (const CaseResult& result : report.cases)
        json["cases"].push_back(json_of(result));
    return dump(json, 1) + "\n";
}

}  // namespace plumb::cli
