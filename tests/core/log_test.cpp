#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <plumb/core/error.h>
#include <plumb/core/log.h>

#include "tensor/expect_error.h"

using plumb::LogLevel;

namespace {

/// What `call` writes to stderr.
template <class F>
std::string stderr_of(const F& call) {
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    std::fflush(stderr);
    const int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    call();
    std::fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    std::rewind(file);
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
        text += static_cast<char>(c);
    std::fclose(file);
    return text;
}

std::string all_levels() {
    return stderr_of([] {
        plumb::log_error("e");
        plumb::log_warning("w");
        plumb::log_info("i");
        plumb::log_debug("d");
    });
}

struct Reset {
    ~Reset() {
        unsetenv("PLUMB_LOG");
        plumb::set_log_level_from_environment();
        plumb::set_log_prefix("");
    }
};

}  // namespace

// ctest runs this program with PLUMB_LOG=info; must stand first, before anything sets the level.
TEST_CASE("the environment decides at first") {
    const char* const text = std::getenv("PLUMB_LOG");
    const std::string given = text == nullptr ? "warning" : text;
    CHECK(plumb::name(plumb::log_level()) == given);
}

TEST_CASE("each level says itself and what is graver") {
    const Reset reset;
    plumb::set_log_level(LogLevel::off);
    CHECK(all_levels().empty());
    plumb::set_log_level(LogLevel::error);
    CHECK(all_levels() == "plumb error: e\n");
    plumb::set_log_level(LogLevel::warning);
    CHECK(all_levels() == "plumb error: e\nplumb warning: w\n");
    plumb::set_log_level(LogLevel::info);
    CHECK(all_levels() == "plumb error: e\nplumb warning: w\nplumb info: i\n");
    plumb::set_log_level(LogLevel::debug);
    CHECK(all_levels() == "plumb error: e\nplumb warning: w\nplumb info: i\nplumb debug: d\n");
    CHECK(stderr_of([] { plumb::log(LogLevel::off, "never"); }).empty());
}

TEST_CASE("whether a level is heard can be asked") {
    const Reset reset;
    plumb::set_log_level(LogLevel::warning);
    CHECK(plumb::logs(LogLevel::error));
    CHECK(plumb::logs(LogLevel::warning));
    CHECK_FALSE(plumb::logs(LogLevel::info));
    CHECK_FALSE(plumb::logs(LogLevel::off));
}

TEST_CASE("the prefix stands in every line") {
    const Reset reset;
    plumb::set_log_level(LogLevel::info);
    plumb::set_log_prefix("rank 3");
    CHECK(stderr_of([] { plumb::log_info("ready"); }) == "plumb [rank 3] info: ready\n");
    plumb::set_log_prefix("");
    CHECK(stderr_of([] { plumb::log_info("ready"); }) == "plumb info: ready\n");
}

TEST_CASE("lines of several threads do not mix") {
    const Reset reset;
    plumb::set_log_level(LogLevel::info);
    const std::string text = stderr_of([] {
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 4; ++thread)
            threads.emplace_back([] {
                for (int line = 0; line < 200; ++line)
                    plumb::log_info("0123456789");
            });
        for (std::thread& thread : threads)
            thread.join();
    });
    std::string wanted;
    for (int line = 0; line < 800; ++line)
        wanted += "plumb info: 0123456789\n";
    CHECK(text == wanted);
}

TEST_CASE("the environment read again") {
    const Reset reset;
    setenv("PLUMB_LOG", "debug", 1);
    plumb::set_log_level_from_environment();
    CHECK(plumb::log_level() == LogLevel::debug);
    unsetenv("PLUMB_LOG");
    plumb::set_log_level_from_environment();
    CHECK(plumb::log_level() == LogLevel::warning);
    plumb::set_log_level(LogLevel::error);
    setenv("PLUMB_LOG", "loud", 1);
    expect_error<plumb::EnvironmentError>([] { plumb::set_log_level_from_environment(); },
                                          {"PLUMB_LOG", "'loud' given", "off, error, warning, info, debug"});
    CHECK(plumb::log_level() == LogLevel::error);
}

TEST_CASE("level names") {
    for (const LogLevel level :
         {LogLevel::off, LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug})
        CHECK(plumb::log_level_from_name(plumb::name(level)) == level);
    CHECK(plumb::log_level_from_name("info") == LogLevel::info);
    expect_error<plumb::ArgumentError>([] { static_cast<void>(plumb::log_level_from_name("INFO")); },
                                       {"log level", "'INFO' given", "off, error, warning, info, debug"});
}
