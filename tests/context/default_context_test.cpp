#include <plumb/context/comm_context.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <mpi.h>

#include <plumb/core/error.h>

#include "mpi/expect.h"

namespace {

using plumb::AgreementError;
using plumb::ArgumentError;
using plumb::GlobalRank;
using plumb::Group;
using plumb::GroupRef;
using plumb::ParallelMode;
using plumb::test::message_of;
using plumb::test::rank;
using plumb::test::ranks;

constexpr const char* kNone =
    "there is no default context: call init_default_context(\"data=2,sequence=4\") first";

TEST_CASE("the default context: made, used, destroyed, made again") {
    CHECK_FALSE(plumb::has_default_context());
    CHECK(message_of<ArgumentError>([] { static_cast<void>(plumb::default_context()); }) == kNone);
    CHECK(message_of<ArgumentError>([] { static_cast<void>(GroupRef(ParallelMode::data)); }) == kNone);
    CHECK(message_of<ArgumentError>([] { static_cast<void>(GroupRef("data")); }) == kNone);
    plumb::destroy_default_context();

    const std::string size = std::to_string(ranks());
    for (const auto& mesh : std::vector<std::string>{"data=" + size, "sequence=1,data=" + size}) {
        auto& context = plumb::init_default_context(mesh);
        CHECK(plumb::has_default_context());
        CHECK(&plumb::default_context() == &context);
        CHECK(context.mesh().to_string() == mesh);
        CHECK(message_of<ArgumentError>([] { plumb::init_default_context("data=1"); }) ==
              "there is a default context already, over mesh '" + mesh + "': destroy it first");
        plumb::destroy_default_context();
        CHECK_FALSE(plumb::has_default_context());
    }
}

TEST_CASE("a failed start leaves no default context") {
    CHECK_THROWS_AS(plumb::init_default_context("model=1"), AgreementError);
    CHECK_FALSE(plumb::has_default_context());
    plumb::init_default_context("data=" + std::to_string(ranks()));
    plumb::destroy_default_context();
}

TEST_CASE("what an op acts in: a group, a mode or a name") {
    auto& context = plumb::init_default_context("data=" + std::to_string(ranks()));
    const std::vector<GlobalRank> last{GlobalRank(ranks() - 1)};
    const Group& named = context.init_group("last", last);
    const Group own(MPI_COMM_SELF, "own");
    const Group& data = context.group(ParallelMode::data);
    CHECK(&*GroupRef(own) == &own);
    CHECK(&*GroupRef(ParallelMode::data) == &data);
    CHECK(&*GroupRef("data") == &data);
    CHECK(&*GroupRef("DATA_PARALLEL") == &data);
    CHECK(&*GroupRef(std::string_view("last")) == &named);
    CHECK(GroupRef("global")->size() == ranks());
    CHECK_THROWS_AS(static_cast<void>(GroupRef("tensor")), ArgumentError);
    CHECK_THROWS_AS(static_cast<void>(GroupRef(ParallelMode::tensor)), ArgumentError);
    plumb::destroy_default_context();
}

TEST_CASE("the default context over the user's communicator") {
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank(), &reversed);
    const auto& context = plumb::init_default_context(reversed, "tensor=" + std::to_string(ranks()));
    MPI_Comm_free(&reversed);
    CHECK(context.global_rank() == GlobalRank(ranks() - 1 - rank()));
    plumb::destroy_default_context();
}

}  // namespace
