#!/usr/bin/env bash
# devtools/release/prepare.sh VERSION: sets the version, and makes its section of CHANGELOG.md of the
# fragments in devtools/changes. Commit what it changes, tag the commit vVERSION, and push the tag.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1
python=${PYTHON:-python3}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(rc[0-9]+)?$ ]] ||
    { echo "devtools/release/prepare.sh: $version is not of the form 1.2.3 or 1.2.3rc1" >&2; exit 2; }
sed -i "s|^  <version>.*</version>\$|  <version>$version</version>|" \
    handler-java/pom.xml handler-java/spark/pom.xml
"$python" -m towncrier build --yes --version "$version"
# What was written by hand before the first release belongs to it.
sed -i "/^## $version (not released)\$/d" CHANGELOG.md
