#!/usr/bin/env bash
# devtools/release/check.sh DIRECTORY: what users do with a release that build.sh has made there: its sums
# and signature (by a key made for that) are checked, the wheel and the source distribution are
# installed from a local index into empty environments and prune a golden table, a jar holds its classes,
# and the changelog can be made.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath "$1")
python=${PYTHON:-python3}
version=$(devtools/release/version.sh)
golden=tests/data/golden/cow_v9_txns_simple_meta.zip
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() {
    printf '%-12s %s\n' "$1" "$2"
}

export GNUPGHOME=$work/gnupg
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase "" --quick-generate-key "release check" default default 1d
devtools/release/sign.sh "$target" 2>"$work/gpg.log" || { cat "$work/gpg.log"; exit 1; }
gpgconf --kill gpg-agent
say signature "$(wc -l <"$target/SHA256SUMS") files are signed and unchanged"

# An index as PyPI's, of these files alone: first the project of it, then what that requires.
mkdir -p "$work/index/pyhudi-expr"
for file in "$target"/*.whl "$target"/*.tar.gz; do
    case $file in */pyhudi_expr-*) ;; *) continue ;; esac
    name=$(basename "$file")
    cp "$file" "$work/index/pyhudi-expr/"
    echo "<a href=\"$name#sha256=$(sha256sum "$file" | cut -d ' ' -f 1)\">$name</a><br>"
done >"$work/index/pyhudi-expr/index.html"
for form in wheel sdist; do
    "$python" -m venv "$work/$form"
    options=(--only-binary pyhudi-expr)
    if [ "$form" = sdist ]; then
        # It is built by this environment's hatchling: the local index has none.
        "$work/$form/bin/pip" install --quiet --disable-pip-version-check hatchling
        options=(--no-binary pyhudi-expr --no-build-isolation)
    fi
    "$work/$form/bin/pip" install --quiet --disable-pip-version-check --no-deps \
        --index-url "file://$work/index" "${options[@]}" "pyhudi-expr==$version"
    "$work/$form/bin/pip" install --quiet --disable-pip-version-check "pyhudi-expr[service]==$version"
    say "$form" "$(cd "$work" && "$work/$form/bin/python" "$OLDPWD/devtools/release/try_wheel.py" "$OLDPWD/$golden")"
done
[ "$("$work/wheel/bin/pyhudi" --version)" = "pyhudi, version $version" ]
(cd "$work" && wheel/bin/pyhudi serve --check >/dev/null)

for name in pyhudi-hive-handler pyhudi-hive3-handler; do
    "$python" - "$target/$name-$version" "$version" <<'PYTHON'
import sys, zipfile

def names(kind):
    return set(zipfile.ZipFile(f"{sys.argv[1]}{kind}.jar").namelist())

path = "io/pyhudi/hive/HudiStorageHandler"
assert f"{path}.class" in names(""), "the jar"
assert f"{path}.java" in names("-sources"), "the sources"
assert f"{path}.html" in names("-javadoc"), "the javadoc"
manifest = zipfile.ZipFile(f"{sys.argv[1]}.jar").read("META-INF/MANIFEST.MF").decode()
assert f"Implementation-Version: {sys.argv[2]}" in manifest, manifest
PYTHON
    say "$name" "classes, sources and javadoc"
done
for bom in "$target"/*.cdx.json; do
    say SBOM "$(basename "$bom"): $("$python" -c 'import json, sys
bom = json.load(open(sys.argv[1]))
assert bom["bomFormat"] == "CycloneDX" and bom["components"]
print(len(bom["components"]), "components")' "$bom")"
done

devtools/release/notes.sh >"$work/notes.md"
"$python" -m towncrier build --draft --version "$version" >/dev/null 2>"$work/towncrier.log" ||
    { cat "$work/towncrier.log"; exit 1; }
say changelog "$(wc -l <"$work/notes.md") lines, $(find devtools/changes -name '*.md' ! -name README.md | wc -l) fragments"
