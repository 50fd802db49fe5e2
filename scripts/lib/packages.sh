# Says what is needed, looks what is there, and installs the rest through apt. To be sourced by bash.
#
#   need command cmake cmake "to configure the build"     KIND NAME PACKAGE PURPOSE
#   install_needed
#
# Kinds: command (NAME is on the path), library (pkg-config knows NAME), python (Python 3 can import NAME), package
# (Debian's package PACKAGE is installed). Nothing that is there already is installed again.
# shellcheck shell=bash

needed=()

need() {
    needed+=("$1|$2|$3|$4")
}

is_present() {
    local kind=$1 name=$2 package=$3
    case $kind in
        command) command -v "$name" ;;
        library) pkg-config --exists "$name" ;;
        python) python3 -c "import $name" || /usr/bin/python3 -c "import $name" ;;
        package) [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package")" = installed ] ;;
    esac >/dev/null 2>&1
}

# Prints the needs that are not met, in the form in which they are kept.
list_missing() {
    local entry kind name package purpose
    for entry in "${needed[@]}"; do
        IFS='|' read -r kind name package purpose <<<"$entry"
        is_present "$kind" "$name" "$package" || printf '%s\n' "$entry"
    done
}

describe_missing() {
    local kind name package purpose
    while IFS='|' read -r kind name package purpose; do
        case $kind in
            library) name="the library $name with its headers and pkg-config file" ;;
            python) name="Python 3 with the module $name" ;;
            package) name="Debian's package $package" ;;
        esac
        printf '  %s, %s\n' "$name" "$purpose"
    done <<<"$1"
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@"
}

apt_knows() {
    local package
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 || return 1
    done
}

install_needed() {
    local missing package kind name purpose
    local packages=()
    missing=$(list_missing)
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "This system has no apt. Please install with its own tools what is missing, then run this again:" >&2
        describe_missing "$missing" >&2
        return 1
    fi
    while IFS='|' read -r kind name package purpose; do
        if [[ " ${packages[*]-} " != *" $package "* ]] && ! is_present package - "$package"; then
            packages+=("$package")
        fi
    done <<<"$missing"
    if [ ${#packages[@]} -gt 0 ]; then
        echo "Missing on this system:"
        describe_missing "$missing"
        if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
            echo "Installing it takes root, and there is no sudo. Please run as root:" >&2
            echo "  apt-get install ${packages[*]}" >&2
            return 1
        fi
        echo "Installing through apt: ${packages[*]}"
        apt_knows "${packages[@]}" || apt_get update -q
        # A package list that is out of date names files that are gone.
        apt_get install -q -y --no-install-recommends "${packages[@]}" ||
            { apt_get update -q && apt_get install -q -y --no-install-recommends "${packages[@]}"; }
    fi
    missing=$(list_missing)
    if [ -n "$missing" ]; then
        echo "The packages are installed, yet this is still not found:" >&2
        describe_missing "$missing" >&2
        return 1
    fi
}

need_to_build() {
    need command cc build-essential "to compile"
    need command make build-essential "to build"
    need command cmake cmake "to configure the build"
    need command pkg-config pkg-config "to find libraries"
    need library openblas libopenblas-dev "for the products of matrices"
    need library jansson libjansson-dev "to read .safetensors files"
    need library gdlib libgd-dev "to draw heat maps"
    need library libpng libpng-dev "to read pictures"
    need library sndfile libsndfile1-dev "to read sound"
}

need_to_test_python() {
    need command python3 python3 "to build the Python package"
    need python numpy python3-numpy "for its arrays"
    need python setuptools python3-setuptools "to build its wheel"
    need python wheel python3-wheel "to build its wheel"
    need python pip python3-pip "to build and install its wheel"
    need python pytest python3-pytest "to run its tests"
    need python mypy python3-mypy "to check its types"
    need python matplotlib python3-matplotlib "to test its pictures"
    need python torch python3-torch "to compare it with PyTorch"
}

need_to_test() {
    need_to_build
    need command c++ build-essential "to check the headers as C++"
    need library cmocka libcmocka-dev "to run the unit tests"
    need package dlpack libdlpack-dev "to test tensors from and for DLPack"
    need command python3 python3 "to run the conformance cases"
    need python numpy python3-numpy "to compare arrays"
}

# need_to_fuzz ENGINE
need_to_fuzz() {
    need_to_test
    need command clang clang "to instrument what is fuzzed"
    need package libclang-rt libclang-rt-14-dev "for the sanitizers and the fuzzer of that compiler"
    if [ "$1" = afl ]; then
        need command afl-fuzz afl++ "to fuzz with AFL++"
    fi
}

need_to_analyze() {
    need command gcc gcc "for its analyzer"
    need command clang-tidy clang-tidy "to look for mistakes"
    need command run-clang-tidy clang-tidy "to look for mistakes in several files at once"
    need command cppcheck cppcheck "to look for mistakes"
    need command python3 python3 "to run the analyzers"
}

need_to_mutate() {
    need command ninja ninja-build "to build again only what a mutation changes"
    need command git git "to copy the tree"
}

need_to_measure_coverage() {
    need command gcc gcc "to count what is run"
    need command gcovr gcovr "to report what was run"
    need command python3 python3 "to hold it against the limits"
}

need_to_compare_abi() {
    need command abidiff abigail-tools "to compare the binary interface with the recorded one"
    need command python3 python3 "to read the headers"
}

need_to_test_go() {
    need command go golang-go "to test the Go package"
    need command pkg-config pkg-config "to find the library from Go"
}

need_to_document() {
    need command doxygen doxygen "to build the site"
    need command python3 python3 "to write what the site and the man pages are made of"
    need command mandoc mandoc "to check man pages"
    need command man man-db "to check man pages"
    need package groff-base groff-base "to check man pages"
}

need_to_package() {
    need command dpkg-source dpkg-dev "to make Debian's source package"
    need command debootstrap debootstrap "to build and test in a Debian of its own"
    need command lintian lintian "to check the packages"
    need command blhc blhc "to see that no hardening flag was lost"
    need command diffoscope diffoscope-minimal "to show what differs between two builds"
    need command autopkgtest autopkgtest "to test the packages as installed"
}

need_to_package_rpm() {
    need command rpmbuild rpm "to build RPMs"
    need command rpmlint rpmlint "to check them"
    need command cpio cpio "to unpack them"
}

need_to_test_rust() {
    need command cargo cargo "to test the Rust crates"
    need command rustc rustc "to compile them"
    need command pkg-config pkg-config "to find the library from Rust"
    need command readelf binutils "to see what a static program needs"
}

need_to_complete() {
    need command zsh zsh "to check the completion for zsh"
    need command fish fish "to check the completion for fish"
}
