// One case that passes and one that fails, for the proof that the serial main tells them apart.
#include <doctest/doctest.h>

TEST_CASE("passes") {
    CHECK(1 + 1 == 2);
}

TEST_CASE("fails") {
    const int sum = 1 + 1;
    CHECK(sum == 3);
}
