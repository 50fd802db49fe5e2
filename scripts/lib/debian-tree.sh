# A minimal Debian below a folder: made by debootstrap, entered by chroot. Takes root. To be sourced by bash after
# common.sh. What is mounted and started in a tree ends with the command that was run in it, and nothing of it is seen
# from outside.
# shellcheck shell=bash

# Downloaded packages, kept for the next tree.
package_archives=$root/build/debian-archives

# make_tree TREE: as few packages as Debian can do with, of this machine's release and from where its own came.
make_tree() {
    local tree=$1 release mirror
    # shellcheck disable=SC1091
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(SITE)' 'Created-By: Packages' |
        sed -n "s/^$release main //p" | head -n 1)
    mkdir -p "$package_archives/partial"
    debootstrap --variant=minbase --cache-dir="$package_archives" "$release" "$tree" "$mirror" >"$tree.log" ||
        { tail -n 30 "$tree.log" && return 1; }
    printf 'force-unsafe-io\n' >"$tree/etc/dpkg/dpkg.cfg.d/unsafe-io"
    # No service is started in a tree.
    printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
    chmod +x "$tree/usr/sbin/policy-rc.d"
    chroot "$tree" useradd --create-home builder
}

# isolated TREE [--net] COMMAND...: runs the command outside of the tree, but with what the tree needs mounted in it.
isolated() {
    local tree=$1 network=()
    shift
    if [ "$1" = --net ]; then
        network=(--net)
        shift
    fi
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child "${network[@]}" sh -euc '
        mount -t proc proc "$0/proc"
        mount -t tmpfs tmpfs "$0/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
        mount --bind "$1" "$0/var/cache/apt/archives"
        shift
        exec "$@"' "$tree" "$package_archives" "$@"
}

# in_tree TREE [--net] COMMAND...: as root in the tree; --net cuts it off from every network.
in_tree() {
    local tree=$1 network=() name
    local settings=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
    shift
    if [ "$1" = --net ]; then
        network=(--net)
        shift
    fi
    for name in DEB_BUILD_OPTIONS ATTNZOO_TEST_CASES; do
        [ -z "${!name-}" ] || settings+=("$name=${!name}")
    done
    isolated "$tree" "${network[@]}" chroot "$tree" env -i "${settings[@]}" "$@"
}

# as_builder TREE FOLDER COMMAND...: in a folder of the tree, without a network, as a user without rights.
as_builder() {
    local tree=$1 folder=$2
    shift 2
    # shellcheck disable=SC2016
    in_tree "$tree" --net runuser -u builder -- sh -euc 'cd "$0" && exec "$@"' "$folder" "$@"
}

# apt_in_tree TREE ARGUMENT...: apt-get, without recommended packages; its output is shown if it fails.
apt_in_tree() {
    local tree=$1
    shift
    in_tree "$tree" apt-get -q -y --no-install-recommends "$@" >"$tree.log" 2>&1 ||
        { tail -n 30 "$tree.log" && return 1; }
}
