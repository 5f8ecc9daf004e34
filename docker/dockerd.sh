#!/usr/bin/env bash
# docker/dockerd.sh HOME RUN: a Docker engine for as long as standard input stays open, so that it ends
# with those who need it, however they end. It listens at RUN/docker.sock; RUN/ready tells that it
# does. HOME/data keeps images and what builds may use again. All else goes at the end: containers,
# volumes, networks, mounts, RUN itself.
set -euo pipefail
home=$1
run=$2
seconds=60
export DOCKER_HOST=unix://$run/docker.sock

# What containers were, also those of an engine that was killed.
empty() {
    docker ps --all --quiet | xargs --no-run-if-empty docker rm --force --volumes
    docker volume ls --quiet | xargs --no-run-if-empty docker volume rm --force
    docker network prune --force
} >/dev/null

unmount() {
    awk -v home="$home/" -v run="$run/" 'index($2, home) == 1 || index($2, run) == 1 { print $2 }' \
        /proc/mounts | sort --reverse | xargs --no-run-if-empty umount
}

start() {
    # The limits of containers must not be above our own. The machine's packet filter, forwarding and
    # networks stay as they are: containers reach each other, and the machine reaches their ports.
    dockerd --data-root "$home/data" --exec-root "$run/exec" --pidfile "$run/pid" \
        --host "$DOCKER_HOST" --bridge none --iptables=false --ip-forward=false \
        --default-ulimit nofile=16384:20000 --default-ulimit nproc=8192:16384 \
        >"$home/dockerd.log" 2>&1 {lock}>&- &
    engine=$!
    until docker version >/dev/null 2>&1; do
        kill -0 "$engine" 2>/dev/null || return
        sleep 0.2
    done
}

stop() {
    if kill -0 "$engine" 2>/dev/null; then
        empty || true
        kill "$engine"
        timeout "$seconds" tail --pid="$engine" --follow /dev/null || kill -9 "$engine"
    fi
    unmount
    rm -rf "$run"
}

exec {lock}>"$home/lock"
flock --wait "$seconds" "$lock" ||
    { echo "docker/dockerd.sh: another engine uses $home" >&2; rm -rf "$run"; exit 1; }
unmount
engine=
trap stop EXIT
# On a machine that is very busy its parts do not find each other in time, and it ends itself.
start || start || start
empty
touch "$run/ready"
cat <&0 >/dev/null &
wait -n || true
