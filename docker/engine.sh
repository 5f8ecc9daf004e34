#!/usr/bin/env bash
# docker/engine.sh COMMAND...: runs a command with a container engine.
#
# An engine that answers is used. Where none does and PYHUDI_NEED_ENGINE=1, one is started for as
# long as the command runs: Debian's, installed if it is not there, with its data below .work/engine.
# That needs root, and ends in an error where it fails. Without the variable the command runs all the
# same, and finds no engine.
#
# The engine started here reaches no registry, perhaps: a base image is made by debootstrap, and
# BASE_IMAGE tells the command its name.
set -euo pipefail
cd "$(dirname "$0")/.."

home=$PWD/.work/engine
# Sockets have short paths.
run=/tmp/pyhudi-engine.$$
packages=(docker.io docker-compose debootstrap iptables)
base=pyhudi/base:bookworm
seconds=60

fail() {
    echo "docker/engine.sh: $1" >&2
    exit 1
}

answers() {
    docker version >"$home/version.log" 2>&1
}

install() {
    dpkg -s "${packages[@]}" >/dev/null 2>&1 && return
    echo "installing ${packages[*]} ..."
    {
        apt-get -q update
        # Nothing may start the engine as a service: it would be another one than ours.
        printf '#!/bin/sh\nexit 101\n' >"$home/policy-rc.d"
        chmod +x "$home/policy-rc.d"
        [ -e /usr/sbin/policy-rc.d ] || { cp "$home/policy-rc.d" /usr/sbin/ && ours=1; }
        DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 install -y \
            --no-install-recommends "${packages[@]}"
        [ -z "${ours:-}" ] || rm /usr/sbin/policy-rc.d
    } >"$home/install.log" 2>&1 || fail "cannot install ${packages[*]}, see $home/install.log"
}

start() {
    # The limits of containers must not be above our own.
    dockerd --data-root "$home/data" --exec-root "$run/exec" --pidfile "$run/pid" \
        --host "$DOCKER_HOST" --default-ulimit nofile=16384:20000 \
        --default-ulimit nproc=8192:16384 >"$home/dockerd.log" 2>&1 &
    engine=$!
    trap 'stop' EXIT
    for ((waited = 0; waited < seconds * 5; waited++)); do
        answers && return
        kill -0 "$engine" 2>/dev/null || break
        sleep 0.2
    done
    fail "the engine does not start, see $home/dockerd.log"
}

stop() {
    kill "$engine" 2>/dev/null || return 0
    wait "$engine" || true
    rm -rf "$run"
}

# A minimal Debian with this machine's package sources.
make_base() {
    docker image inspect "$base" >/dev/null 2>&1 && return
    echo "making the base image ..."
    local root=$home/base
    rm -rf "$root"
    debootstrap --variant=minbase bookworm "$root" >"$home/debootstrap.log" 2>&1 ||
        fail "debootstrap failed, see $home/debootstrap.log"
    if [ -s /etc/apt/sources.list.d/debian.sources ]; then
        cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
        : >"$root/etc/apt/sources.list"
    fi
    rm -f "$root"/var/cache/apt/archives/*.deb
    # As in the public images: nothing to read, and no waiting for the disk.
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/images"
    printf 'path-exclude /usr/share/%s/*\n' doc man locale >>"$root/etc/dpkg/dpkg.cfg.d/images"
    echo 'Acquire::Languages "none";' >"$root/etc/apt/apt.conf.d/images"
    tar -C "$root" -c . | docker import - "$base" >/dev/null
    rm -rf "$root"
}

mkdir -p "$home"
if ! answers && [ "${PYHUDI_NEED_ENGINE:-}" = 1 ]; then
    [ "$(id -u)" = 0 ] || fail "only root can start an engine"
    install
    mkdir "$run"
    export DOCKER_HOST=unix://$run/docker.sock
    # The builder of Debian's engine; the other is a plugin that is not there.
    export DOCKER_BUILDKIT=0
    start
    make_base
    export BASE_IMAGE=$base
fi
"$@"
