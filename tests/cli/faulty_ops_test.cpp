#include <doctest/doctest.h>

#include <plumb/comm/all_gather.h>
#include <plumb/context/comm_context.h>
#include <plumb/core/error.h>
#include <plumb/ops/all_to_all.h>

#include <mpi.h>

#include "cli/verify_case.h"

using namespace plumb;
using namespace plumb::cli;

// Operations that are wrong in one way each, run as verify runs them: every rank must see it.

namespace {

const Group& world() {
    if (!has_default_context()) {
        int size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        init_default_context("sequence=" + std::to_string(size));
    }
    return default_context().group(ParallelMode::global);
}

Values right_gather(const Call& call, const Values& input) {
    if (call.target == Target::fresh) return all_gather(input.tensor, call.group);
    return all_gather(
        call.make(call.item.tensors.at(oracle::tensor_key(call.rank(), oracle::Role::out)).shape,
                  call.item.dtype),
        input.tensor, call.group);
}

/// One element off, in the last place.
Values wrong_element(const Call& call, const Values& input) {
    Tensor out = right_gather(call, input).tensor;
    out.narrow(0, 1, 1).view().data[0] ^= std::byte{1};
    return out;
}
Values changes_input(const Call& call, const Values& input) {
    const Tensor out = right_gather(call, input).tensor;
    Tensor in = input.tensor;
    in.bytes()[0] ^= std::byte{1};
    return out;
}
Values writes_outside(const Call& call, const Values& input) {
    Tensor out = right_gather(call, input).tensor;
    out.bytes()[4] ^= std::byte{1};  // between the first two elements of a sliced output
    return out;
}
Values aliases_input(const Call& call, const Values& input) {
    static_cast<void>(right_gather(call, input));
    return input.tensor;
}
Values other_output(const Call& call, const Values& input) {
    return right_gather(call, input).tensor.clone();
}
Values no_output(const Call&, const Values&) {
    return {};
}
Values throws(const Call&, const Values&) {
    throw ArgumentError("planted");
}

VerifySpec gather_spec(const Driver& driver, Layout layout = Layout::sliced) {
    VerifySpec spec;
    spec.id = "planted";
    spec.driver = &driver;
    spec.dtype = DType::f32;
    spec.variant.shape = {2};
    spec.variant.params.form = "concat";
    spec.layout = layout;
    spec.output_layout = Layout::sliced;
    spec.data = Data::real;
    return spec;
}

std::string first_finding(VerifySpec spec, Target target = Target::fresh) {
    spec.target = target;
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const RankOutcome outcome = run_verify_case(spec, world(), size, 1);
    return outcome.findings.empty() ? "" : describe(outcome.findings.front());
}

bool says(const std::string& text, const std::string& part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
}

std::string me() {
    return "rank " + std::to_string(world().rank().value);
}

}  // namespace

TEST_CASE("the right operation passes") {
    const Driver driver{"all_gather", right_gather};
    CHECK(first_finding(gather_spec(driver)) == "");
    CHECK(first_finding(gather_spec(driver), Target::given) == "");
}

TEST_CASE("a wrong element") {
    const Driver driver{"all_gather", wrong_element};
    const std::string text = first_finding(gather_spec(driver));
    CHECK(says(text, me() + ", "));
    CHECK(says(text, "_out [1]: expected "));
    CHECK(says(text, ", 1 ulp (1 of "));
}

TEST_CASE("a changed input, and memory between the elements") {
    CHECK(says(first_finding(gather_spec({"all_gather", changes_input})), "_in: was changed by the call"));
    CHECK(says(first_finding(gather_spec({"all_gather", writes_outside}), Target::given),
               "the memory between its elements was written to"));
}

TEST_CASE("results that are not what they should be") {
    CHECK(says(first_finding(gather_spec({"all_gather", aliases_input})), "shares memory with in"));
    CHECK(says(first_finding(gather_spec({"all_gather", other_output}), Target::given),
               "is not the output given"));
    CHECK(says(first_finding(gather_spec({"all_gather", no_output})), "the call returned no tensor"));
    CHECK(says(first_finding(gather_spec({"all_gather", throws})), "forward: planted"));
}

namespace {

Values right_exchange(const Call& call, const Values& input) {
    return all_to_all(input.tensor, 0, 1, call.group);
}
Tensor right_gradient(const Call& call, const Tensor& grad) {
    return all_to_all_backward(grad, 0, 1, call.group);
}
/// The gradient of the first rank is off by one in one element.
Tensor wrong_gradient(const Call& call, const Tensor& grad) {
    Tensor out = right_gradient(call, grad);
    if (call.group.rank() == GroupRank(0)) out.data<double>()[0] += 1;
    return out;
}

VerifySpec exchange_spec(const Driver& driver, Property property) {
    VerifySpec spec;
    spec.id = "planted";
    spec.driver = &driver;
    spec.property = property;
    spec.dtype = DType::f64;
    spec.variant.shape = {2, 3};
    spec.variant.params.gather_dim = 0;
    spec.variant.params.scatter_dim = 1;
    spec.data = Data::whole;
    return spec;
}

}  // namespace

TEST_CASE("a wrong gradient is seen by the values on its rank, and by the adjoint test on all") {
    const Driver right{"all_to_all", right_exchange, right_gradient};
    const Driver wrong{"all_to_all", right_exchange, wrong_gradient};
    CHECK(first_finding(exchange_spec(right, Property::values)) == "");
    CHECK(first_finding(exchange_spec(right, Property::adjoint)) == "");
    const std::string values = first_finding(exchange_spec(wrong, Property::values));
    if (world().rank() == GroupRank(0))
        CHECK(says(values, "rank 0, rank0_gradin [0, 0]: expected "));
    else
        CHECK(values == "");
    CHECK(says(first_finding(exchange_spec(wrong, Property::adjoint)),
               "backward is not the adjoint of forward"));
}
