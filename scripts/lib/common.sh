# What the scripts share: where the repository is, headings, building and testing below build/. To be sourced by bash.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

heading() {
    printf '\n== %s\n' "$*"
}

processors() {
    getconf _NPROCESSORS_ONLN
}

# configure_and_build NAME [CMAKE_OPTION...]: builds in build/NAME.
configure_and_build() {
    local folder=$root/build/$1
    shift
    cmake -S "$root" -B "$folder" "$@" >/dev/null
    cmake --build "$folder" --parallel "$(processors)"
}

# run_tests NAME [CTEST_OPTION...]: runs the tests built in build/NAME; none at all is a failure, as is one that hangs.
run_tests() {
    local folder=$root/build/$1
    shift
    ctest --test-dir "$folder" --output-on-failure --no-tests=error --timeout 600 --parallel "$(processors)" "$@"
}
