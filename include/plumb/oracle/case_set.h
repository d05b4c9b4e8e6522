#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <plumb/oracle/manifest.h>
#include <plumb/oracle/safetensors.h>

namespace plumb::oracle {

/// A folder with manifest.json and any number of .safetensors files (sub-folders are not searched). A tensor
/// is found by its name, `{case id}/rank{r}_{role}[_k]`, whichever file holds it. Local, no communication.
class CaseSet {
  public:
    /// Throws FileError naming file and place: what read_manifest and SafetensorsFile::open throw; a tensor
    /// name in two files; a tensor that a case lists and no file has, or has with another shape or type; a
    /// tensor that no case lists; a file whose sha256 is not the one the manifest gives.
    static CaseSet load(const std::filesystem::path& folder);

    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    /// In the manifest's order.
    [[nodiscard]] const std::vector<Case>& cases() const noexcept { return cases_; }
    [[nodiscard]] const Case* find(std::string_view id) const;

    [[nodiscard]] static bool has(const Case& item, GlobalRank rank, Role role, int k = kNoIndex);
    /// Read afresh from the file in each call. Throws FileError where the case has no such tensor.
    [[nodiscard]] Tensor tensor(const Case& item, GlobalRank rank, Role role, int k = kNoIndex) const;
    /// Elements 0, 1, … of a list, as many as there are (none: empty).
    [[nodiscard]] std::vector<Tensor> list(const Case& item, GlobalRank rank, Role role) const;

  private:
    struct Place {
        std::size_t file;
        std::size_t entry;
    };

    void index_files();
    void check_digests(const std::map<std::string, std::string>& files) const;
    void check_tensors() const;

    std::filesystem::path folder_;
    std::vector<Case> cases_;
    std::map<std::string, std::size_t, std::less<>> by_id_;
    std::vector<SafetensorsFile> files_;
    std::map<std::string, Place, std::less<>> places_;
};

}  // namespace plumb::oracle
