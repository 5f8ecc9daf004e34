#!/usr/bin/env bash
# docker/secrets.sh DIRECTORY [NAME...]: makes what compose.yaml mounts as secrets, unless it is there:
# passwords, the token of the pruning service, and an authority with certificates for the service
# (which is called pruning-1, pruning-2 and NAME...) and for Hive.
#
# The directory is for its owner only; in the containers another user reads the files.
set -euo pipefail
directory=$1
shift
mkdir -p "$directory"
chmod 700 "$directory"
cd "$directory"
days=825

random() {
    [ -e "$1" ] || openssl rand -hex 24 >"$1"
}

# sign NAME EXTENSIONS: a key and a certificate of the authority.
sign() {
    [ -e "$1.crt" ] && return
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days "$days" \
        -out "$1.crt" -extfile <(printf '%s\n' "$2") 2>/dev/null
    rm "$1.csr"
}

random metastore-password
random pruning-token
random hive-password
[ -e ca.crt ] || openssl req -x509 -newkey rsa:2048 -nodes -days "$days" -keyout ca.key -out ca.crt \
    -subj "/CN=pyhudi" 2>/dev/null
names=$(printf ',DNS:%s' pruning-1 pruning-2 "$@")
sign service "subjectAltName=${names#,}
extendedKeyUsage=serverAuth"
sign hive "extendedKeyUsage=clientAuth"
# What Java reads: Hive's key with its certificate. The authority it reads as it is.
[ -e hive.p12 ] || openssl pkcs12 -export -in hive.crt -inkey hive.key -name hive \
    -passout file:hive-password -out hive.p12
chmod 444 ./*
chmod 400 ca.key
