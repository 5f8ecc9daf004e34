#!/usr/bin/env bash
# docker/secrets.sh DIRECTORY [NAME...]: makes what compose.yaml mounts as secrets, unless it is there:
# passwords, the token of the pruning service, and an authority with certificates for the service
# (which is called pruning-1, pruning-2, localhost, 127.0.0.1 and NAME..., hosts or IP addresses) and
# for Hive. A certificate that is there and lacks a NAME is an error.
#
# The directory is for its owner only; in the containers another user reads the files.
set -euo pipefail

fail() {
    echo "$0: $*" >&2
    exit 1
}

case ${1:-} in
"" | -*)
    echo "usage: $0 DIRECTORY [NAME...], where NAME is a host or an IP address of the pruning service" >&2
    exit 2
    ;;
esac
command -v openssl >/dev/null || fail "openssl is missing"
directory=$1
shift
for name in "$@"; do
    [[ $name =~ ^[A-Za-z0-9*._:-]+$ ]] || fail "'$name' is neither a host nor an IP address"
done
mkdir -p "$directory"
chmod 700 "$directory"
days=825

random() {
    [ -e "$1" ] || openssl rand -hex 24 >"$1"
}

is_address() {
    [[ $1 =~ ^[0-9]+(\.[0-9]+){3}$ || $1 == *:* ]]
}

# alternative NAME...: the names in the form of a certificate's, each once.
alternative() {
    local name
    for name in "$@"; do
        if is_address "$name"; then echo "IP:$name"; else echo "DNS:$name"; fi
    done | awk '!seen[$0]++' | paste -sd,
}

# sign NAME EXTENSIONS: a key and a certificate of the authority.
sign() {
    [ -e "$1.crt" ] && return
    [ -e ca.key ] || fail "$directory has no $1.crt, and no ca.key to make one with"
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -days "$days" \
        -set_serial "0x1$(openssl rand -hex 15)" -out "$1.crt" -extfile <(printf '%s\n' "$2") 2>/dev/null ||
        fail "openssl makes no certificate with: $2"
    rm "$1.csr"
}

# has NAME: whether callers of NAME accept the service's certificate.
has() {
    local option=-checkhost
    ! is_address "$1" || option=-checkip
    openssl x509 -in service.crt -noout "$option" "$1" | grep -q "does match"
}

(
    cd "$directory"
    random metastore-password
    random pruning-token
    random hive-password
    [ -e ca.crt ] || openssl req -x509 -newkey rsa:2048 -nodes -days "$days" -keyout ca.key -out ca.crt \
        -subj "/CN=pyhudi" 2>/dev/null
    sign service "subjectAltName=$(alternative pruning-1 pruning-2 localhost 127.0.0.1 "$@")
extendedKeyUsage=serverAuth"
    sign hive "extendedKeyUsage=clientAuth"
    # What Java reads: Hive's key with its certificate. The authority it reads as it is.
    [ -e hive.p12 ] || openssl pkcs12 -export -in hive.crt -inkey hive.key -name hive \
        -passout file:hive-password -out hive.p12
    chmod 444 ./*
    [ ! -e ca.key ] || chmod 400 ca.key
    for name in "$@"; do
        has "$name" || fail "$directory/service.crt was there and is not for $name; callers that check" \
            "the name refuse it. Remove service.crt and service.key, and run this again with all names"
    done
)
