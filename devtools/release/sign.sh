#!/usr/bin/env bash
# devtools/release/sign.sh DIRECTORY: signs SHA256SUMS by the first secret key of GnuPG's home, and checks
# the sums and the signature as a user does.
set -euo pipefail
cd "$1"
sha256sum --quiet --check SHA256SUMS
gpg --batch --yes --armor --detach-sign --output SHA256SUMS.asc SHA256SUMS
gpg --batch --verify SHA256SUMS.asc SHA256SUMS
