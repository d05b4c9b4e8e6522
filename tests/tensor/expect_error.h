#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>

/// Fails unless `call` throws E (exactly that type, or one derived from it) with all of `parts` in its
/// message.
template <class E, class F>
void expect_error(const F& call, std::initializer_list<std::string_view> parts) {
    std::string message;
    bool thrown = false;
    try {
        call();
    } catch (const E& error) {
        thrown = true;
        message = error.what();
    }
    CHECK_MESSAGE(thrown, "no error");
    for (const std::string_view part : parts) {
        INFO("message: ", message, "; wanted: ", std::string(part));
        CHECK(message.find(part) != std::string::npos);
    }
}
