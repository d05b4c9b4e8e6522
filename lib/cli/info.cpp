#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include <plumb/context/comm_context.h>
#include <plumb/core/error.h>
#include <plumb/core/version.h>
#include <plumb/mpi/check.h>

#include "cli/commands.h"
#include "cli/errors.h"
#include "cli/output.h"

namespace plumb::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Transport {
    const char* name;
    bool available;
    const char* text;
};
constexpr std::array kTransports = {
    Transport{"mpi", true, "host memory through MPI"},
    Transport{"shm", false, "this version has no shared-memory transport"},
    Transport{"direct", false, "this build has no device memory"},
    Transport{"staged", false, "this build has no device memory"},
};

constexpr std::array kVariables = {"PLUMB_CHECK",      "PLUMB_TRANSPORT", "PLUMB_DEVICE_TRANSPORT",
                                   "PLUMB_CUDA_AWARE", "PLUMB_TIMEOUT",   "PLUMB_CP_HALO_IMPL",
                                   "PLUMB_SIM_MPI",    "PLUMB_SHM_ARENA", "PLUMB_LOG"};

std::string processor_name() {
    std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
    int length = 0;
    mpi::check(MPI_Get_processor_name(text.data(), &length), "MPI_Get_processor_name", mpi::world_caller());
    return {text.data(), static_cast<std::size_t>(length)};
}

/// [{"name": …, "ranks": […]}], in the order of their first ranks.
Json hosts(const Job& job) {
    Json list = Json::array();
    const std::vector<std::string> names = job.all_gather(processor_name());
    for (std::size_t r = 0; r < names.size(); ++r) {
        auto place = std::find_if(list.begin(), list.end(),
                                  [&](const Json& host) { return host["name"] == names[r]; });
        if (place == list.end()) {
            list.push_back({{"name", names[r]}, {"ranks", Json::array()}});
            place = list.end() - 1;
        }
        (*place)["ranks"].push_back(r);
    }
    return list;
}

/// Where this rank stands in the mesh.
Json placement_of_rank(const CommContext& context) {
    Json json{{"rank", context.global_rank().value}, {"host", processor_name()}};
    json["node_rank"] = context.node_local_rank();
    json["coordinates"] = Json::object();
    const std::vector<int> coordinates = context.coordinates();
    for (std::size_t a = 0; a < coordinates.size(); ++a)
        json["coordinates"][to_string(context.mesh().axes()[a].mode)] = coordinates[a];
    json["groups"] = Json::object();
    for (const ParallelMode mode : context.modes()) {
        Json ranks = Json::array();
        for (const GlobalRank rank : context.ranks_in_group(mode))
            ranks.push_back(rank.value);
        json["groups"][to_string(mode)] = ranks;
    }
    return json;
}

Json placement(const Job& job, const std::string& mesh) {
    Json json{{"mesh", mesh}, {"ranks", Json::array()}};
    try {
        const CommContext context{mesh};
        for (const std::string& text : job.all_gather(placement_of_rank(context).dump()))
            json["ranks"].push_back(Json::parse(text));
    } catch (const AgreementError& error) {
        throw CannotRun(error.what());
    }
    return json;
}

Json facts(const Job& job, const std::string& mesh) {
    const BuildInfo& build = build_info();
    Json json{{"command", "info"}, {"version", build.version}};
    json["build"] = {{"compiler", build.compiler},
                     {"type", build.build_type},
                     {"library", build.library_kind},
                     {"sanitizers", build.sanitizers},
                     {"mpi", build.mpi}};
    json["mpi"] = {{"library", mpi::library_version()},
                   {"standard", mpi::standard_version()},
                   {"thread_level", mpi::name(job.thread_level())}};
    json["ranks"] = job.size();
    json["hosts"] = hosts(job);
    json["memory"] = {"host"};
    json["transports"] = Json::array();
    for (const Transport& transport : kTransports)
        json["transports"].push_back({{"name", transport.name},
                                      {"available", transport.available},
                                      {transport.available ? "use" : "reason", transport.text}});
    json["environment"] = Json::object();
    for (const char* variable : kVariables)
        if (const char* value = std::getenv(variable)) json["environment"][variable] = value;
    if (!mesh.empty()) json["placement"] = placement(job, mesh);
    return json;
}

std::string text_of(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Columns as wide as their widest entry, two blanks apart.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t c = 0; c < row.size(); ++c)
            widths[c] = std::max(widths[c], row[c].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c)
            line += fmt::format("{}{:<{}}", c == 0 ? "" : "  ", row[c], widths[c]);
        text += "  " + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

std::string placement_table(const Json& placement) {
    std::vector<std::vector<std::string>> rows;
    for (const Json& rank : placement["ranks"]) {
        if (rows.empty()) {
            rows.push_back({"rank", "host", "node rank"});
            for (const auto& [axis, value] : rank["coordinates"].items())
                rows.front().push_back(axis);
            for (const auto& [mode, value] : rank["groups"].items())
                rows.front().push_back("group " + mode);
        }
        std::vector<std::string> row = {text_of(rank["rank"]), text_of(rank["host"]),
                                        text_of(rank["node_rank"])};
        for (const char* part : {"coordinates", "groups"})
            for (const Json& value : rank[part])
                row.push_back(text_of(value));
        rows.push_back(row);
    }
    return fmt::format("mesh {}\n{}", text_of(placement["mesh"]), aligned(rows));
}

std::string text_of_facts(const Json& json) {
    const Json& build = json["build"];
    std::vector<std::vector<std::string>> rows;
    rows.push_back(
        {"Plumb",
         fmt::format(
             "{} ({}, {}, {} library{})", text_of(json["version"]), text_of(build["type"]),
             text_of(build["compiler"]), text_of(build["library"]),
             text_of(build["sanitizers"]).empty() ? "" : ", sanitizers " + text_of(build["sanitizers"]))});
    rows.push_back({"MPI", fmt::format("{} (standard {}, thread level {}), built against {}",
                                       text_of(json["mpi"]["library"]), text_of(json["mpi"]["standard"]),
                                       text_of(json["mpi"]["thread_level"]), text_of(build["mpi"]))});
    rows.push_back({"ranks", fmt::format("{} on {} host(s)", text_of(json["ranks"]), json["hosts"].size())});
    for (const Json& host : json["hosts"])
        rows.push_back({"", fmt::format("{}: {} rank(s): {}", text_of(host["name"]), host["ranks"].size(),
                                        fmt::join(host["ranks"].get<std::vector<int>>(), ", "))});
    rows.push_back(
        {"memory", fmt::format("{}", fmt::join(json["memory"].get<std::vector<std::string>>(), ", "))});
    bool first = true;
    for (const Json& transport : json["transports"]) {
        const bool available = transport["available"].get<bool>();
        rows.push_back(
            {first ? "transports" : "",
             fmt::format("{}: {}{}", text_of(transport["name"]), available ? "" : "not available: ",
                         text_of(transport[available ? "use" : "reason"]))});
        first = false;
    }
    std::string environment;
    for (const auto& [variable, value] : json["environment"].items())
        environment += fmt::format("{}{}={}", environment.empty() ? "" : " ", variable, text_of(value));
    rows.push_back({"environment", environment.empty() ? "no PLUMB_ variable is set" : environment});
    return aligned(rows) + (json.contains("placement") ? placement_table(json["placement"]) : "");
}

}  // namespace

int info(Job& job, const InfoOptions& options) {
    Output output(job, options.common);
    const Json json = facts(job, options.mesh);
    output.print(text_of_facts(json));
    Report report;
    report.command = "info";
    report.ranks = job.size();
    CaseResult result;
    result.id = result.op = "info";
    report.cases.push_back(result);
    output.write_files(json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n", to_junit(report));
    return kAllGood;
}

}  // namespace plumb::cli
