#include <plumb/oracle/case_set.h>

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include <plumb/core/error.h>

#include "oracle/file.h"
#include "oracle/sha256.h"

namespace plumb::oracle {

namespace {

std::vector<std::filesystem::path> tensor_files(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> paths;
    std::error_code error;
    std::filesystem::directory_iterator entries(folder, error);
    for (const std::filesystem::directory_iterator end; !error && entries != end; entries.increment(error))
        if (entries->path().extension() == ".safetensors") paths.push_back(entries->path());
    if (error) throw FileError(fmt::format("{}: cannot be listed: {}", folder.string(), error.message()));
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::string full_name(const Case& item, const std::string& key) {
    return item.id + "/" + key;
}

}  // namespace

CaseSet CaseSet::load(const std::filesystem::path& folder) {
    CaseSet set;
    set.folder_ = folder;
    Manifest manifest = read_manifest(folder / "manifest.json");
    set.check_digests(manifest.files);
    set.cases_ = std::move(manifest.cases);
    for (std::size_t i = 0; i < set.cases_.size(); ++i)
        set.by_id_[set.cases_[i].id] = i;
    set.index_files();
    set.check_tensors();
    return set;
}

void CaseSet::check_digests(const std::map<std::string, std::string>& files) const {
    for (const auto& [name, digest] : files) {
        const std::string found = sha256_of_file(folder_ / name);
        if (found != digest)
            throw FileError(fmt::format("{}: sha256 is {}, the manifest says {}", (folder_ / name).string(),
                                        found, digest));
    }
}

void CaseSet::index_files() {
    for (const auto& path : tensor_files(folder_)) {
        files_.push_back(SafetensorsFile::open(path));
        const auto& entries = files_.back().entries();
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const auto [place, is_new] = places_.try_emplace(entries[i].name, Place{files_.size() - 1, i});
            if (!is_new)
                throw FileError(fmt::format("{}: tensor \"{}\" is in {} too", path.string(),
                                            printable(entries[i].name),
                                            files_[place->second.file].path().filename().string()));
        }
    }
}

void CaseSet::check_tensors() const {
    for (const Case& item : cases_) {
        if (!item.problem.empty()) continue;
        for (const auto& [key, wanted] : item.tensors) {
            const std::string name = full_name(item, key);
            const auto place = places_.find(name);
            if (place == places_.end())
                throw FileError(
                    fmt::format("{}: tensor \"{}\" of the manifest is in no file", folder_.string(), name));
            const SafetensorsFile& file = files_[place->second.file];
            const auto& found = file.entries()[place->second.entry];
            if (found.shape != wanted.shape || found.dtype != wanted.dtype)
                throw FileError(fmt::format("{}: tensor \"{}\" is {} {}, the manifest says {} {}",
                                            file.path().string(), name, safetensors_name(found.dtype),
                                            to_string(found.shape), safetensors_name(wanted.dtype),
                                            to_string(wanted.shape)));
        }
    }
    for (const auto& [name, place] : places_) {
        const auto slash = name.find('/');
        const Case* item =
            slash == std::string::npos ? nullptr : find(std::string_view(name).substr(0, slash));
        const bool listed =
            item != nullptr && (!item->problem.empty() || item->tensors.count(name.substr(slash + 1)) != 0);
        if (!listed)
            throw FileError(fmt::format("{}: tensor \"{}\" belongs to no case of the manifest",
                                        files_[place.file].path().string(), printable(name)));
    }
}

const Case* CaseSet::find(std::string_view id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &cases_[found->second];
}

bool CaseSet::has(const Case& item, GlobalRank rank, Role role, int k) {
    return item.tensors.count(tensor_key(rank, role, k)) != 0;
}

Tensor CaseSet::tensor(const Case& item, GlobalRank rank, Role role, int k) const {
    const std::string name = full_name(item, tensor_key(rank, role, k));
    const auto place = places_.find(name);
    if (place == places_.end())
        throw FileError(fmt::format("{}: there is no tensor \"{}\"", folder_.string(), name));
    const SafetensorsFile& file = files_[place->second.file];
    return file.read(file.entries()[place->second.entry]);
}

std::vector<Tensor> CaseSet::list(const Case& item, GlobalRank rank, Role role) const {
    std::vector<Tensor> tensors;
    for (int k = 0; has(item, rank, role, k); ++k)
        tensors.push_back(tensor(item, rank, role, k));
    return tensors;
}

}  // namespace plumb::oracle
