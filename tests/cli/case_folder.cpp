#include "cli/case_folder.h"

#include <stdexcept>

#include <plumb/oracle/case_set.h>

namespace plumb::test {

std::string golden() {
    return std::string(PLUMB_SOURCE_DIR) + "/tests/golden";
}

CaseFolder::CaseFolder(const std::vector<std::string>& ids) {
    static const auto all = nlohmann::ordered_json::parse(read_file(golden() + "/manifest.json"));
    static const auto set = oracle::CaseSet::load(golden());
    manifest_ = {{"format_version", 1}, {"cases", nlohmann::ordered_json::array()}};
    for (const std::string& id : ids) {
        const oracle::Case* item = set.find(id);
        if (item == nullptr) throw std::runtime_error("no such case: " + id);
        for (const auto& entry : all.at("cases"))
            if (entry.at("id") == id) manifest_["cases"].push_back(entry);
        for (const auto& [key, entry] : item->tensors)
            tensors_[id + "/" + key] = set.tensor(*item, entry.rank, entry.role, entry.k);
    }
}

nlohmann::ordered_json& CaseFolder::entry(const std::string& id) {
    for (auto& entry : manifest_["cases"])
        if (entry.at("id") == id) return entry;
    throw std::runtime_error("no such case: " + id);
}

std::string CaseFolder::write() {
    write_file(folder_ / "manifest.json", manifest_.dump());
    std::vector<oracle::NamedTensor> named;
    for (const auto& [name, tensor] : tensors_)
        named.push_back({name, tensor});
    oracle::write_safetensors(folder_ / "data.safetensors", named);
    return path();
}

}  // namespace plumb::test
