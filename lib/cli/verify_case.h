#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <plumb/context/group.h>
#include <plumb/oracle/manifest.h>

#include "cli/case_run.h"
#include "cli/verify_family.h"

namespace plumb::cli {

/// Runs one case of the family: draws all ranks' inputs, computes on the serial reference what each must get,
/// makes the call and compares; or tests the adjoint property. Collective over `group`. What it finds is in
/// the outcome; throws only what is a fault of the program itself.
[[nodiscard]] RankOutcome run_verify_case(const VerifySpec& spec, const Group& group, int world,
                                          std::uint64_t seed);

/// The spec as a case of one group: arguments, shapes and the list of tensors, results included.
class VerifyCase {
  public:
    VerifyCase(const VerifySpec& spec, const Group& group, int world, std::uint64_t seed);

    [[nodiscard]] const oracle::Case& item() const noexcept { return item_; }
    /// Input or expected result, of any rank of the group.
    [[nodiscard]] const Tensor& tensor(GlobalRank rank, oracle::Role role, int k) const {
        return tensors_.at(oracle::tensor_key(rank, role, k));
    }

  private:
    void set_arguments(int world);
    [[nodiscard]] Shape input_shape(int position) const;
    void add_inputs();
    void add_input(GlobalRank rank, oracle::Role role, int k, const Shape& shape, DType dtype);
    void add_results(oracle::Role role);

    const VerifySpec& spec_;
    const Group& group_;
    std::uint64_t key_;
    oracle::Case item_;
    std::map<std::string, Tensor> tensors_;
};

}  // namespace plumb::cli
