#!/usr/bin/env bash
# docker/engine.sh COMMAND...: runs a command with a container engine.
#
# An engine that answers is used. Where none does and PYHUDI_NEED_ENGINE=1, one is started for as
# long as the command runs: Debian's, installed if it is not there, with its images below .work/engine.
# That needs root, and ends in an error where it fails. Without the variable the command runs all the
# same, and finds no engine.
#
# The engine started here reaches no registry, perhaps: a base image is made by debootstrap, and
# BASE_IMAGE tells the command its name.
set -euo pipefail
cd "$(dirname "$0")/.."

if docker version >/dev/null 2>&1 || [ "${PYHUDI_NEED_ENGINE:-}" != 1 ]; then
    exec "$@"
fi

home=$PWD/.work/engine
base=pyhudi/base:bookworm
policy=/usr/sbin/policy-rc.d

fail() {
    echo "docker/engine.sh: $1" >&2
    exit 1
}

# timed WHAT COMMAND...: runs it, and tells what took how long.
timed() {
    local what=$1 since=$SECONDS
    shift
    "$@" || return
    echo "$what in $((SECONDS - since)) s"
}

# The packages whose programs are not there.
missing() {
    { command -v dockerd && command -v docker; } >/dev/null || echo docker.io
    command -v docker-compose >/dev/null || docker compose version >/dev/null 2>&1 ||
        echo docker-compose
    command -v debootstrap >/dev/null || echo debootstrap
}

install() (
    # Nothing may start the engine as a service: it would be another one than ours.
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    apt-get -q update &&
        DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 install -y \
            --no-install-recommends "$@"
) >"$home/install.log" 2>&1

# A minimal Debian with this machine's package sources.
make_base() {
    local root=$home/base sources=/etc/apt/sources.list.d/debian.sources
    rm -rf "$root"
    debootstrap --variant=minbase bookworm "$root" >"$home/debootstrap.log" 2>&1 ||
        fail "debootstrap failed, see $home/debootstrap.log"
    if grep -qs bookworm "$sources"; then
        cp "$sources" "$root/etc/apt/sources.list.d/"
        : >"$root/etc/apt/sources.list"
    fi
    rm -f "$root"/var/cache/apt/archives/*.deb
    # As in the public images: nothing to read, and no waiting for the disk.
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/images"
    printf 'path-exclude /usr/share/%s/*\n' doc man locale >>"$root/etc/dpkg/dpkg.cfg.d/images"
    echo 'Acquire::Languages "none";' >"$root/etc/apt/apt.conf.d/images"
    tar -C "$root" -c . | docker import - "$base" >/dev/null || fail "cannot import $root"
    rm -rf "$root"
}

[ "$(id -u)" = 0 ] || fail "only root can start an engine"
mkdir -p "$home"
mapfile -t packages < <(missing)
if [ ${#packages[@]} != 0 ]; then
    timed "installed ${packages[*]}" install "${packages[@]}" ||
        fail "cannot install ${packages[*]}, see $home/install.log"
fi

# Sockets have short paths.
run=$(mktemp -d /tmp/pyhudi-engine.XXXXXX)
export DOCKER_HOST=unix://$run/docker.sock
# The builder of Debian's engine; the other is a plugin that is not there.
export DOCKER_BUILDKIT=0
# It ends when the pipe does, that is with us, whatever ends us. A session of its own keeps the
# terminal's signals from it.
exec {pipe}> >(exec setsid docker/dockerd.sh "$home" "$run")
engine=$!
trap 'exec {pipe}>&-; wait "$engine" || true' EXIT
trap 'exit 130' HUP INT TERM
until [ -e "$run/ready" ]; do
    kill -0 "$engine" 2>/dev/null || fail "the engine does not start, see $home/dockerd.log"
    sleep 0.1
done
docker image inspect "$base" >/dev/null 2>&1 || timed "made the base image" make_base
export BASE_IMAGE=$base

command=
trap 'kill "$command" 2>/dev/null' HUP INT TERM
"$@" <&0 {pipe}>&- &
command=$!
status=0
wait "$command" || status=$?
# A signal ends `wait` before it ends the command.
wait "$command" || status=$?
exit "$status"
