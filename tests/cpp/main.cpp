/*
 * tests/cpp/main.cpp: runs every test of the C++ interface, and says which failed.
 */
#include "testing.hpp"

#include <cstdio>
#include <exception>

int main()
{
    std::size_t failed = 0;
    for (const testing::test &test : testing::all_tests()) {
        try {
            test.body();
            std::printf("ok   %s\n", test.name);
        } catch (const std::exception &failure) {
            std::printf("FAIL %s: %s\n", test.name, failure.what());
            failed++;
        }
    }
    std::printf("%zu tests, %zu failed\n", testing::all_tests().size(), failed);
    return failed == 0 && !testing::all_tests().empty() ? 0 : 1;
}
