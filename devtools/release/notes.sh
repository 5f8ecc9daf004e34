#!/usr/bin/env bash
# The section of CHANGELOG.md about the version of the project, without its heading.
set -euo pipefail
cd "$(dirname "$0")/../.."
awk -v heading="## $(devtools/release/version.sh) " '
    /^## / { inside = index($0, heading) == 1; next }
    inside { print; found = found || NF }
    END { if (!found) exit 1 }' CHANGELOG.md ||
    { echo "devtools/release/notes.sh: CHANGELOG.md has no section of this version" >&2; exit 1; }
