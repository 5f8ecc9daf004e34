#!/usr/bin/env bash
# Builds the images pyhudi/{database,hive,service,spark} from what `make venv runtime handler` has
# made: they hold the versions that the tests run with. BASE_IMAGE is an image of Debian 12 (the
# default: debian:bookworm-slim), whose Python has to be of .venv's version, 3.11; TAG is the
# images' tag.
set -euo pipefail
cd "$(dirname "$0")/.."

context=.work/images
runtime=.work/runtime
base=${BASE_IMAGE:-debian:bookworm-slim}
tag=${TAG:-latest}

# build IMAGE OPTIONS...: from docker/IMAGE and what is in its context.
build() {
    local image=$1 begun=$SECONDS
    shift
    cp -r "docker/$image/." "$context/$image"
    # Packages come from where this machine's come from.
    docker build --quiet --network host --tag "pyhudi/$image:$tag" --build-arg BASE_IMAGE="$base" \
        "$@" "$context/$image" >/dev/null
    echo "built pyhudi/$image:$tag in $((SECONDS - begun)) s"
}

# A copy that costs nothing where the file system can link.
copy() {
    cp -al "$@" 2>/dev/null || cp -a "$@"
}

.venv/bin/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
    { echo "docker/build.sh: .venv has to be of Python 3.11, the base image's" >&2; exit 1; }
rm -rf "$context"
mkdir -p "$context"/{database,hive/conf,service,spark}

build database

copy "$runtime/lib" "$context/hive/lib"
copy "$runtime/aux" "$context/hive/aux"
cp handler-java/target/pyhudi-hive-handler.jar "$context/hive/aux"
cp hive-conf/*.properties hive-conf/hive-site.xml "$context/hive/conf"
.venv/bin/python -c 'import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).read("package.jdo").decode())' \
    "$runtime"/lib/hive-exec-*.jar >"$context/hive/conf/package.jdo"
.venv/bin/python -c 'from devtools.runtime import ADD_OPENS; print(*ADD_OPENS, sep="\n")' \
    >"$context/hive/conf/jvm.options"
build hive

.venv/bin/python -m devtools.packages "$context/service/site" service
.venv/bin/python -m devtools.packages "$context/spark/site" service spark
for shared in "$context"/service/site/*; do
    rm -rf "$context/spark/site/${shared##*/}"
done
build service
copy "$runtime/aux" "$context/spark/jars"
build spark --build-arg SERVICE_IMAGE="pyhudi/service:$tag"
rm -rf "$context"
