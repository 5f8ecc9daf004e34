#!/usr/bin/env bash
# The version of the project, of which handler-java/pom.xml is the only place.
set -euo pipefail
sed -n 's|^  <version>\(.*\)</version>$|\1|p' "$(dirname "$0")/../../handler-java/pom.xml" | grep .
