# What programs of another architecture are linked with and run with: packages of this machine's release, unpacked below
# a folder and not configured. Nothing of it is installed on this machine. To be sourced by bash after common.sh.
# shellcheck shell=bash

# write_apt_configuration ARCHITECTURE FOLDER: for an apt that knows this architecture alone and no installed package.
write_apt_configuration() {
    local architecture=$1 folder=$2 release mirror
    # shellcheck disable=SC1091
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(SITE)' 'Created-By: Packages' |
        sed -n "s/^$release main //p" | head -n 1)
    mkdir -p "$folder"/{lists,archives}/partial "$folder/sources"
    : >"$folder/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$folder/sources.list"
    cat >"$folder/apt.conf" <<END
APT::Architecture "$architecture";
#clear APT::Architectures;
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State "$folder";
Dir::State::status "$folder/status";
Dir::State::lists "$folder/lists";
Dir::Cache "$folder";
Dir::Cache::archives "$folder/archives";
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "$folder/sources";
END
}

# provide_alternatives LIBRARIES INCLUDES: what the unpacked packages would link when they are configured.
provide_alternatives() {
    local name
    for name in libblas.so.3 libblas.so libblas.a; do
        ln -sf "blas/$name" "$1/$name"
    done
    ln -sf cblas-netlib.h "$2/cblas.h"
}

# fill_sysroot ARCHITECTURE TRIPLET SYSROOT PACKAGE...: these packages and all they need. A sysroot that is there and
# was filled with the same packages stays as it is.
fill_sysroot() {
    local architecture=$1 triplet=$2 sysroot=$3 archive
    shift 3
    [ "$(cat "$sysroot.packages" 2>/dev/null)" != "$*" ] || return 0
    rm -rf "$sysroot" "$sysroot.packages" "$sysroot.apt"
    mkdir -p "$sysroot"
    (
        set -e
        write_apt_configuration "$architecture" "$sysroot.apt"
        export APT_CONFIG=$sysroot.apt/apt.conf
        apt-get -q update
        apt-get -q -y install --download-only "$@"
        for archive in "$sysroot.apt"/archives/*.deb; do
            dpkg-deb --extract "$archive" "$sysroot"
        done
        provide_alternatives "$sysroot/usr/lib/$triplet" "$sysroot/usr/include/$triplet"
    )
    echo "$*" >"$sysroot.packages"
}
