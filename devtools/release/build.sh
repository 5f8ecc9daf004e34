#!/usr/bin/env bash
# devtools/release/build.sh DIRECTORY [PART...]: what a release consists of, into a new directory.
#
#   python  the source distribution, and the wheel for this processor
#   java    the handlers' jars for Hive 4 and 3.1, with sources, javadoc and what is inside (CycloneDX);
#           the jar of Spark's extension, which the wheel has as well
#   chart   the Helm chart (needs helm), the manifests and the unit
#   sums    SHA256SUMS of all that is there
#
# Without parts all of them. VERSION is that of handler-java/pom.xml, the only place where it is written.
# PYTHON is a Python with the packages of packages.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(realpath -m "$1")
shift
parts=${*:-python java chart sums}
python=${PYTHON:-python3}
PATH=$(dirname "$(command -v "$python")"):$PATH
mvn=(mvn -B -ntp -q -s "${MAVEN_SETTINGS:-hive-conf/settings.xml}" -f handler-java/pom.xml)
version=$(devtools/release/version.sh)
mkdir -p "$target"

build_python() {
    local built
    built=$(mktemp -d)
    build_spark_jar
    "$python" -m build --no-isolation --outdir "$built" .
    # What the kernel needs of the C library is named by the wheel's tag.
    auditwheel repair --wheel-dir "$built/repaired" "$built"/*.whl
    check-wheel-contents "$built"/repaired/*.whl
    twine check --strict "$built"/*.tar.gz "$built"/repaired/*.whl
    mv "$built"/*.tar.gz "$built"/repaired/*.whl "$target"
    rm -r "$built"
    build_python_bom
}

# Of an environment in which nothing else is installed.
build_python_bom() {
    local environment
    environment=$(mktemp -d)
    "$python" -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check \
        "$(echo "$target"/*.whl)[service]"
    "$environment/bin/pip" uninstall --quiet --yes pip setuptools
    cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
        --output-file "$target/pyhudi-expr-$version.cdx.json" "$environment/bin/python"
    rm -r "$environment"
}

build_spark_jar() {
    "${mvn[@]/handler-java\/pom.xml/handler-java/spark/pom.xml}" -Dmaven.test.skip package
}

build_java() {
    local line name built kind
    build_spark_jar
    cp handler-java/target/spark/pyhudi-spark-extension.jar \
        "$target/pyhudi-spark-extension-$version.jar"
    for line in hive4 hive3; do
        "${mvn[@]}" "-P$line,release" -Dmaven.test.skip package
        name=pyhudi-hive-handler built=handler-java/target
        [ "$line" = hive4 ] || { name=pyhudi-hive3-handler; built+=/hive3; }
        for kind in "" -sources -javadoc; do
            cp "$built/$name$kind.jar" "$target/$name-$version$kind.jar"
        done
        cp "$built/bom.json" "$target/$name-$version.cdx.json"
    done
}

build_chart() {
    helm package docker/helm --version "$version" --app-version "$version" --destination "$target"
    helm template pruning "$target/pyhudi-pruning-$version.tgz" >"$target/pruning-$version.yaml"
    tar -czf "$target/pyhudi-systemd-$version.tar.gz" \
        -C "$PWD/docker/systemd" pyhudi.service service.toml -C "$PWD/docker" secrets.sh
}

build_sums() {
    (cd "$target" && rm -f SHA256SUMS && sha256sum -- * >"$target.sums" && mv "$target.sums" SHA256SUMS)
}

for part in $parts; do
    "build_$part"
done
