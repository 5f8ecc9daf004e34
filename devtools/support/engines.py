"""The engines and the features of the page, with the tests that show each of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Engine:
    """A version of an engine.

    Attributes:
        name: Its name on the page.
        tested: What the tests run.
        results: How the names of its files of results begin.
        case: The case of parametrised tests that is about it; empty if all are.
    """

    name: str
    tested: str
    results: str
    case: str = ""


@dataclass(frozen=True)
class Feature:
    """A feature, and its tests: modules, or single functions of them (`module.py::function`)."""

    name: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table of the page: a row for each feature, a column for each engine.

    Attributes:
        title: Its heading.
        tests: The directory of its tests.
        commands: The commands that run them.
    """

    title: str
    tests: str
    commands: tuple[str, ...]
    engines: tuple[Engine, ...]
    features: tuple[Feature, ...]


def _hive(name: str, tests: tuple[str, ...], old: tuple[str, ...]) -> Feature:
    later = tuple(f"tests/hive/{test}" for test in tests)
    return Feature(name, later + tuple(f"tests/hive/hive3/{test}" for test in old))


HIVE = Table(
    "Hive",
    "tests/hive",
    tuple(f"make test-hive{version}" for version in ("3", "40", "41", "42")),
    (
        Engine("Hive 3.1", "3.1.3, JDK 17", "hive-3.1"),
        Engine("Hive 4.0", "4.0.1, JDK 17", "hive-4.0"),
        Engine("Hive 4.1", "4.1.0, JDK 17", "hive-4.1"),
        Engine("Hive 4.2", "4.2.0, JDK 21", "hive-4.2"),
    ),
    (
        _hive(
            "types",
            ("queries/test_types.py",),
            (
                "test_predicates.py::test_every_column_is_the_same_for_every_reader",
                "test_predicates.py::test_values_equal_the_written_ones",
            ),
        ),
        _hive(
            "predicates",
            ("queries/test_predicates.py", "queries/test_files_read.py"),
            (
                "test_predicates.py::test_a_predicate_returns_the_right_rows_with_and_without_pruning",
                "test_predicates.py::test_mapreduce_returns_the_rows_from_the_same_files",
            ),
        ),
        _hive("shapes of queries", ("queries/test_query_shapes.py",), ()),
        _hive(
            "planning, statistics",
            (
                "queries/test_planner_facts.py",
                "queries/test_statistics.py",
                "queries/test_analyze.py",
            ),
            ("test_predicates.py::test_counts_come_from_the_index_and_not_from_analyze",),
        ),
        _hive(
            "extremes, counts",
            ("queries/test_min_max.py",),
            ("test_predicates.py::test_min_and_max_in_the_index_read_no_file",),
        ),
        _hive(
            "DDL",
            ("statements/test_ddl.py",),
            (
                "test_tables.py::test_writes_are_refused_and_change_nothing",
                "test_tables.py::test_partitioned_by_is_refused_with_an_alternative",
                "test_tables.py::test_the_read_optimised_view_reads_base_files_only",
                "test_hive_commands.py",
            ),
        ),
        _hive(
            "partitions",
            ("queries/test_partitions.py",),
            ("test_tables.py::test_a_filter_on_partitions_reads_no_other",),
        ),
        _hive("joins", ("queries/test_joins.py", "queries/test_join_keys.py"), ("test_joins.py",)),
        _hive(
            "counters of jobs",
            (
                "queries/test_statistics.py::test_a_jobs_summary_counts_the_files_that_each_index_dropped",
                "queries/test_min_max.py::test_a_jobs_summary_reports_answers_from_statistics",
            ),
            (),
        ),
        _hive(
            "time travel",
            (
                "queries/test_time_travel.py",
                "queries/test_cleaned_states.py",
                "states/test_two_states.py",
            ),
            (
                "test_time_travel.py::test_a_state_has_the_rows_of_hudis_spark_reader",
                "test_time_travel.py::test_a_table_of_an_earlier_state_is_refused",
                "test_time_travel.py::test_a_state_that_never_was_is_an_error",
            ),
        ),
        _hive(
            "incremental reads",
            ("queries/test_incremental.py",),
            ("test_time_travel.py::test_changes_have_the_rows_of_hudis_spark_reader",),
        ),
        _hive("metadata tables", ("test_metadata_views.py",), ("test_metadata_views.py",)),
        _hive(
            "tables of Hudi's sync",
            (
                "adoption/test_synced_tables.py",
                "adoption/test_sync_runs.py",
                "adoption/test_many_tables.py",
                "test_following.py",
            ),
            (),
        ),
        _hive("jobs over several tables", ("queries/test_shared_jobs.py",), ()),
    ),
)

_SPARK_TESTS = "tests/packaging/test_spark_versions.py"

PYSPARK = Table(
    "PySpark",
    "tests/packaging",
    ("make test-pyspark",),
    tuple(
        Engine(f"PySpark {version}", "newest patch", "pyspark", version)
        for version in ("3.5", "4.0", "4.1", "4.2", "4.3")
    ),
    tuple(
        Feature(name, (f"{_SPARK_TESTS}::{test}",))
        for name, test in (
            ("building indexes", "test_indexes_have_the_entries_of_spark_3_5"),
            ("refreshing indexes", "test_a_refresh_covers_a_new_commit"),
            ("layouts", "test_a_layout_puts_the_same_rows_in_each_file"),
            ("pruned reads", "test_pruned_reads_have_the_rows_of_a_full_read"),
            ("filters of plans", "test_filters_of_plans_are_those_of_spark_3_5"),
            ("types", "test_arrow_types_are_those_of_spark_3_5"),
        )
    ),
)

PYTHON = Table(
    "Python",
    "tests/packaging",
    ("make test-python",),
    tuple(
        Engine(f"Python {version}", "CPython", "python", version)
        for version in ("3.10", "3.11", "3.12", "3.13")
    ),
    (
        Feature(
            "the wheel: package, command line, service",
            ("tests/packaging/test_installed.py::test_the_wheel_works_in_every_python",),
        ),
    ),
)


def _plugin(name: str, presto: tuple[str, ...], trino: tuple[str, ...]) -> Feature:
    tests = [f"test_presto{test}" for test in presto] + [f"test_trino.py::{test}" for test in trino]
    return Feature(name, tuple(f"tests/engines/{test}" for test in tests))


PLUGINS = Table(
    "Presto and Trino, by the example plugins",
    "tests/engines",
    ("make test-presto", "make test-trino"),
    (
        Engine("Presto", "0.287, JDK 11", "presto"),
        Engine("Trino", "476, JDK 25", "trino"),
    ),
    (
        _plugin(
            "predicates",
            (
                ".py::test_files_that_cannot_match_are_not_read",
                ".py::test_other_conditions_find_their_rows",
            ),
            ("test_files_that_cannot_match_are_not_read", "test_other_conditions_find_their_rows"),
        ),
        _plugin(
            "views of a table",
            (
                ".py::test_without_pruning_every_split_is_read",
                ".py::test_base_files_alone_are_pruned_too",
            ),
            (
                "test_the_connector_alone_reads_every_version_of_a_file",
                "test_a_table_with_log_files_is_refused",
                "test_conditions_on_hidden_columns_are_refused",
            ),
        ),
        _plugin("joins", (".py::test_both_sides_of_a_join_are_pruned",), ()),
        _plugin(
            "a service that is down, or wrong",
            (
                "_faults.py::test_without_a_service_every_split_is_read",
                "_faults.py::test_an_answer_that_is_none_excludes_nothing",
                "_faults.py::test_a_verdict_on_another_listing_excludes_nothing",
            ),
            (
                "test_without_a_service_there_are_no_rows",
                "test_what_is_no_list_of_the_tables_files_is_an_error",
            ),
        ),
        _plugin(
            "commits during a query",
            (
                "_faults.py::test_a_commit_between_the_listing_and_the_question",
                "_faults.py::test_an_answer_about_an_earlier_state",
            ),
            ("test_a_commit_during_a_query_is_not_seen_in_part",),
        ),
    ),
)

TABLES = (HIVE, PYSPARK, PYTHON, PLUGINS)
