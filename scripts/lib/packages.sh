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
}

need_to_test() {
    need_to_build
    need command c++ build-essential "to check the headers as C++"
    need library cmocka libcmocka-dev "to run the unit tests"
    need command python3 python3 "to run the conformance cases"
    need python numpy python3-numpy "to compare arrays"
}
