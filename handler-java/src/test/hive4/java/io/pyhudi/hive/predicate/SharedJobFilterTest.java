package io.pyhudi.hive.predicate;

import static io.pyhudi.hive.predicate.FilteredScans.BERN;
import static io.pyhudi.hive.predicate.FilteredScans.OSLO;
import static io.pyhudi.hive.predicate.FilteredScans.scan;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Collections;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.CompilationOpContext;
import org.apache.hadoop.hive.ql.exec.OperatorFactory;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.MapWork;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hive 3.1 cannot write a plan on the JDK of these tests. */
class SharedJobFilterTest {
  private static final Path TRIPS = new Path("file:/lake/trips");
  private static final Path OTHERS = new Path("file:/lake/others");

  @TempDir java.nio.file.Path scratch;

  /** A MapReduce job that joins trips in Oslo with trips in Bern, and with other trips. */
  private JobConf sharedJob() {
    MapWork work = new MapWork();
    add(work, TRIPS, "a", scan("trips", OSLO));
    add(work, TRIPS, "b", scan("trips", BERN));
    add(work, OTHERS, "c", scan("others", BERN));
    JobConf job = new JobConf();
    Utilities.setMapWork(job, work, new Path(scratch.toUri()), true);
    return job;
  }

  private static void add(MapWork work, Path path, String alias, TableScanDesc scan) {
    work.addPathToAlias(path, alias);
    work.getAliasToWork().put(alias, OperatorFactory.get(new CompilationOpContext(), scan));
  }

  private static String filter(JobConf job, Path location) {
    ExprNodeGenericFuncDesc filter = ScanFilter.of(job, Collections.singletonList(location));
    return filter == null ? null : filter.getExprString();
  }

  @Test
  void aJobOfSeveralAliasesHasItsFiltersInThePlan() {
    assertEquals("(city = 'Bern')", filter(sharedJob(), OTHERS));
    assertEquals("((city = 'Oslo') or (city = 'Bern'))", filter(sharedJob(), TRIPS));
    assertNull(filter(sharedJob(), new Path("file:/lake/small")));
  }

  @Test
  void aTaskDoesNotTakeItsJobsFiltersForThoseOfAnotherTable() {
    JobConf job = sharedJob();
    job.set("mapreduce.task.attempt.id", "attempt_1");
    assertNull(filter(job, OTHERS));
  }

  @Test
  void aFilterThatHiveHasSetIsThatOfItsOwnScanOnly() {
    JobConf job = sharedJob();
    job.set(TableScanDesc.FILTER_EXPR_CONF_STR, SerializationUtilities.serializeExpression(OSLO));
    assertNull(filter(job, OTHERS));
    assertNull(filter(job, TRIPS));
  }
}
