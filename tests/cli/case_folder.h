#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <plumb/tensor/tensor.h>

#include "cli/program.h"

namespace plumb::test {

/// Some of the recorded cases in a folder of their own, to be changed before they are written.
class CaseFolder {
  public:
    explicit CaseFolder(const std::vector<std::string>& ids);

    /// The case's entry in the manifest.
    nlohmann::ordered_json& entry(const std::string& id);
    nlohmann::ordered_json& manifest() { return manifest_; }
    /// By full name: "{id}/rank0_out".
    Tensor& tensor(const std::string& name) { return tensors_.at(name); }
    std::map<std::string, Tensor>& tensors() { return tensors_; }

    /// Writes manifest.json and data.safetensors, and returns the folder.
    std::string write();
    [[nodiscard]] std::string path() const { return folder_.path().string(); }

  private:
    Folder folder_;
    nlohmann::ordered_json manifest_;
    std::map<std::string, Tensor> tensors_;
};

/// The recorded cases.
std::string golden();

}  // namespace plumb::test
