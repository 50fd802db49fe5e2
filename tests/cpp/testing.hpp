/*
 * tests/cpp/testing.hpp: just enough to test C++ with: CMocka leaves a failed test by longjmp(), which C++ objects on the
 * way do not survive. A test is TEST(name) { ... }; main.cpp runs them all.
 */
#ifndef ATTNZOO_TESTS_CPP_TESTING_HPP
#define ATTNZOO_TESTS_CPP_TESTING_HPP

#include <attnzoo/attnzoo.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace testing
{

struct test {
    const char *name;
    void (*body)();
};

/* A function's own, so that it is there before the first test registers. */
inline std::vector<test> &all_tests()
{
    static std::vector<test> tests;
    return tests;
}

struct registration {
    registration(const char *name, void (*body)())
    {
        all_tests().push_back({name, body});
    }
};

[[noreturn]] inline void fail(const char *file, int line, const std::string &what)
{
    throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

/* The body must throw an attnzoo::error with this status, whose message contains the text. */
template <typename Body>
void require_refused(const char *file, int line, attnzoo::status wanted, std::string_view text, const Body &body)
{
    try {
        body();
    } catch (const attnzoo::error &refusal) {
        if (refusal.status() != wanted)
            fail(file, line,
                 "status is " + std::string(attnzoo::status_name(refusal.status())) + ": " + refusal.what());
        if (std::string_view(refusal.what()).find(text) == std::string_view::npos)
            fail(file, line, "message is \"" + std::string(refusal.what()) + "\", lacks \"" + std::string(text) + "\"");
        return;
    }
    fail(file, line, "was not refused");
}

} // namespace testing

#define TEST(name)                                                                                                     \
    static void name();                                                                                                \
    static const testing::registration name##_registration(#name, name);                                               \
    static void name()

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            testing::fail(__FILE__, __LINE__, #condition " does not hold");                                            \
    } while (0)

#define REQUIRE_REFUSED(wanted, text, ...)                                                                             \
    testing::require_refused(__FILE__, __LINE__, attnzoo::status::wanted, text, [&] { __VA_ARGS__; })

#endif
