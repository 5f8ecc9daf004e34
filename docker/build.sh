#!/usr/bin/env bash
# Builds the images pyhudi/{database,hive,service,spark} from the project's wheel, what it requires, and
# what `make runtime handler` has made. `docker/build.sh service` builds that image alone, and needs
# the wheel only.
#
#   WHEEL        a wheel of pyhudi-expr, of a release for example; else one is built of this directory
#   CONSTRAINTS  versions of the other packages, as pip takes them; else the newest that fit
#   BASE_IMAGE   an image of Debian 12, whose Python is 3.11; else that of docker/base-image
#   TAG          the images' tag (latest)
#   PYTHON       any Python with pip; it fetches packages, and none of its own come into the images
set -euo pipefail
cd "$(dirname "$0")/.."

context=.work/images
runtime=.work/runtime
base=${BASE_IMAGE:-$(<docker/base-image)}
tag=${TAG:-latest}
python=${PYTHON:-python3}
[ -n "${PYTHON:-}" ] || [ ! -x .venv/bin/python ] || python=.venv/bin/python
images=${*:-database hive service spark}

# again COMMAND...: runs it, and once more if it fails. A mirror that does not answer for a moment
# would end the whole build; what has been fetched and the finished layers are kept.
again() {
    "$@" || { echo "docker/build.sh: failed, and is tried again: $1 $2" >&2 && sleep 10 && "$@"; }
}

# build IMAGE OPTIONS...: from docker/IMAGE and what is in its context.
build() {
    local image=$1 started=$SECONDS
    shift
    cp -r "docker/$image/." "$context/$image"
    # Packages come from where this machine's come from.
    again docker build --quiet --network host --tag "pyhudi/$image:$tag" --build-arg BASE_IMAGE="$base" \
        "$@" "$context/$image" >/dev/null
    echo "built pyhudi/$image:$tag in $((SECONDS - started)) s"
}

# A copy that costs nothing where the file system can link.
copy() {
    cp -al "$@" 2>/dev/null || cp -a "$@"
}

# wants IMAGE: whether it is to be built.
wants() {
    [[ " $images " == *" $1 "* ]]
}

# fetch DIRECTORY EXTRAS: the wheel and all that it requires, for the images' Python.
fetch() {
    local directory=$1 extras=$2 platforms=() machine version
    machine=$(uname -m)
    for version in 17 24 26 27 28 31 34 35 36; do
        platforms+=(--platform "manylinux_2_${version}_$machine")
    done
    again "$python" -m pip download --quiet --disable-pip-version-check --dest "$directory" \
        --find-links "$directory" ${CONSTRAINTS:+--constraint "$CONSTRAINTS"} \
        --only-binary :all: --implementation cp --python-version 3.11 \
        --platform "linux_$machine" --platform "manylinux2014_$machine" "${platforms[@]}" \
        "$wheel[$extras]"
}

make_hive() {
    copy "$runtime/lib" "$context/hive/lib"
    copy "$runtime/aux" "$context/hive/aux"
    cp handler-java/target/pyhudi-hive-handler.jar "$context/hive/aux"
    cp hive-conf/*.properties hive-conf/hive-site.xml "$context/hive/conf"
    "$python" -c 'import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).read("package.jdo").decode())' \
        "$runtime"/lib/hive-exec-*.jar >"$context/hive/conf/package.jdo"
    "$python" -c 'from devtools.runtime import ADD_OPENS; print(*ADD_OPENS, sep="\n")' \
        >"$context/hive/conf/jvm.options"
    build hive
}

make_service() {
    fetch "$context/service/wheels" service
    build service
}

# On top of the service's image.
make_spark() {
    # These come as sources alone.
    again "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
        --wheel-dir "$context/spark/wheels" ${CONSTRAINTS:+--constraint "$CONSTRAINTS"} 'pyspark>=3.5,<4' \
        'pyhive>=0.7,<0.8' 'pure-sasl>=0.6'
    fetch "$context/spark/wheels" service,spark,hive
    copy "$runtime/aux" "$context/spark/jars"
    build spark --build-arg SERVICE_IMAGE="pyhudi/service:$tag"
}

make_python_images() {
    wheel=${WHEEL:-}
    if [ -z "$wheel" ]; then
        again "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
            --wheel-dir "$context/wheel" .
        wheel=$(echo "$context"/wheel/*.whl)
    fi
    if wants service; then make_service; fi
    if wants spark; then make_spark; fi
}

for image in $images; do
    [ -d "docker/$image" ] && [ -e "docker/$image/Dockerfile" ] ||
        { echo "docker/build.sh: there is no image $image" >&2; exit 2; }
done
rm -rf "$context"
mkdir -p "$context"/{database,hive/conf,service/wheels,spark/wheels}

# Most of the time is for packages to come, so images are built at the same time.
# Each is a process group, which ends with this script.
set -m
running=()
trap 'for one in "${running[@]}"; do kill -- "-$one" 2>/dev/null || true; done; exit 130' HUP INT TERM
if wants database; then
    build database &
    running+=($!)
fi
if wants hive; then
    make_hive &
    running+=($!)
fi
if wants service || wants spark; then
    make_python_images &
    running+=($!)
fi
failed=0
for one in "${running[@]}"; do
    wait "$one" || failed=1
done
rm -rf "$context"
exit "$failed"
