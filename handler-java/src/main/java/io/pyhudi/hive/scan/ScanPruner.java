package io.pyhudi.hive.scan;

import io.pyhudi.hive.PruneRequests;
import io.pyhudi.hive.PruningSettings;
import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.planning.ExtremeRows;
import io.pyhudi.hive.planning.FirstRowsQuery;
import io.pyhudi.hive.planning.GeneratedRows;
import io.pyhudi.hive.planning.MinMaxQuery;
import io.pyhudi.hive.planning.PartitionQuery;
import io.pyhudi.hive.planning.PartitionRows;
import io.pyhudi.hive.predicate.FilterEncoder;
import io.pyhudi.hive.predicate.HiveSemantics;
import io.pyhudi.hive.predicate.ScanFilter;
import io.pyhudi.hive.protocol.FirstRows;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.table.HudiTable;
import io.pyhudi.hive.table.ServiceListing;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.mapred.JobConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests from the pruning service which files a scan has to read. Never fails: on an error it
 * keeps every file.
 */
final class ScanPruner {
  private static final Logger LOG = LoggerFactory.getLogger(ScanPruner.class);
  private static final String QUERY_ID = "hive.query.id";
  private static final AtomicLong REQUESTS = new AtomicLong();
  private static final QueryCache RECENT = new QueryCache();

  private final JobConf job;
  private final PruningSettings settings;

  ScanPruner(JobConf job, PruningSettings settings) {
    this.job = job;
    this.settings = settings;
  }

  /**
   * Returns which files of the table the scan may skip.
   *
   * @param locations the directories that the scan reads
   */
  ScanVerdict prune(HudiTable table, List<Path> locations) {
    if (!settings.enabled()) {
      return ScanVerdict.unpruned(Outcome.DISABLED, null, 0);
    }
    try {
      ExprNodeGenericFuncDesc filter = ScanFilter.of(job, locations);
      Optional<ScanVerdict> answer =
          filter == null ? answerFromStatistics(table, locations) : Optional.empty();
      if (answer.isPresent()) {
        return answer.get();
      }
      List<FirstRows> first = firstRows(table, locations, filter);
      Optional<PartitionQuery> groups = groups(table, locations);
      if (filter == null && first.isEmpty() && !groups.isPresent()) {
        return ScanVerdict.unpruned(Outcome.NO_FILTER, null, 0);
      }
      Optional<MinMaxQuery> ends = ends(table, locations, filter);
      List<Object> key =
          Arrays.asList(
              queryId(job),
              table.basePath(),
              table.stateKey(),
              filter == null ? null : ScanFilter.text(job, filter),
              first,
              ends.map(MinMaxQuery::columnNames),
              groups.map(PartitionQuery::columnNames),
              settings.asMap());
      ScanVerdict verdict =
          RECENT.get(key, () -> request(table, locations, filter, first, ends, groups));
      return generated(verdict, ends, groups).map(verdict::answeredBy).orElse(verdict);
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: the filter cannot be read, nothing is pruned", table.basePath(), e);
      return ScanVerdict.unpruned(Outcome.FAILED, e.toString(), 0);
    }
  }

  /** Returns rows that can stand for those of the files to read, if an answer tells enough. */
  private Optional<GeneratedRows> generated(
      ScanVerdict verdict, Optional<MinMaxQuery> ends, Optional<PartitionQuery> groups) {
    Optional<GeneratedRows> rows = Optional.empty();
    if (ends.isPresent() && verdict.matching() != null && verdict.counts() != null) {
      rows =
          ExtremeRows.of(job, ends.get(), verdict.matching(), verdict.counts())
              .map(GeneratedRows.class::cast);
    }
    boolean areCounted = verdict.counted() != null && verdict.counts() != null;
    return !rows.isPresent() && groups.isPresent() && areCounted
        ? PartitionRows.of(job, groups.get(), verdict.counted(), verdict.counts())
            .map(GeneratedRows.class::cast)
        : rows;
  }

  private Optional<ScanVerdict> answerFromStatistics(HudiTable table, List<Path> locations) {
    long start = System.nanoTime();
    return ExtremeRows.of(job, table, locations, settings)
        .map(rows -> ScanVerdict.of(rows, micros(start)));
  }

  /**
   * Returns which rows the query needs; none if it may need all that match, or if the service's
   * list of files cannot be used: only there other files may be left out, see {@link
   * FirstRowsQuery}.
   */
  private List<FirstRows> firstRows(
      HudiTable table, List<Path> locations, ExprNodeGenericFuncDesc filter) {
    try {
      return settings.limit() && listsKept(table, locations)
          ? FirstRowsQuery.of(job, locations, filter)
          : Collections.emptyList();
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: the query's limit cannot be read, its files are kept", table.basePath(), e);
      return Collections.emptyList();
    }
  }

  /**
   * Returns the query, if it has a filter and needs nothing but minimum and maximum values and
   * counts. What the service knows of these is about the state of its list of files, too.
   */
  private Optional<MinMaxQuery> ends(
      HudiTable table, List<Path> locations, ExprNodeGenericFuncDesc filter) {
    try {
      return filter != null && ExtremeRows.areAllowed(job) && listsKept(table, locations)
          ? MinMaxQuery.of(job, locations, filter)
          : Optional.empty();
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: the query's aggregates cannot be read", table.basePath(), e);
      return Optional.empty();
    }
  }

  /**
   * Returns the query, if it needs nothing but values of partition columns. Numbers of rows are
   * about the state of the service's list of files, too.
   */
  private Optional<PartitionQuery> groups(HudiTable table, List<Path> locations) {
    try {
      return ExtremeRows.areAllowed(job) && listsKept(table, locations)
          ? PartitionQuery.of(job, locations, table.partitionColumns())
          : Optional.empty();
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: it is not known which columns the query needs", table.basePath(), e);
      return Optional.empty();
    }
  }

  private boolean listsKept(HudiTable table, List<Path> locations) {
    return settings.listing()
        && table.isScannedWhole(locations)
        && ServiceListing.isPossible(table);
  }

  private ScanVerdict request(
      HudiTable table,
      List<Path> locations,
      ExprNodeGenericFuncDesc filter,
      List<FirstRows> first,
      Optional<MinMaxQuery> ends,
      Optional<PartitionQuery> groups) {
    long start = System.nanoTime();
    try {
      List<Node> nodes =
          filter == null
              ? FilterEncoder.ofAllRows()
              : FilterEncoder.encode(filter, job, ScanFilter.metastoreColumns(job));
      if (FilterEncoder.isUnknown(nodes)) {
        return ScanVerdict.unpruned(Outcome.NOT_EXPRESSIBLE, null, micros(start));
      }
      PruneRequest request = newRequest(table, locations, nodes);
      setFirstRows(request, first);
      ends.ifPresent(query -> request.setDescribeMatching(query.columnNames()));
      groups.ifPresent(query -> request.setCountBy(query.columnNames()));
      return RepeatedQuestions.ask(table, request, settings);
    } catch (PruningException e) {
      return ScanVerdict.unpruned(e.outcome(), e.getMessage(), micros(start));
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: the filter cannot be sent, nothing is pruned", table.basePath(), e);
      return ScanVerdict.unpruned(Outcome.FAILED, e.toString(), micros(start));
    }
  }

  private static void setFirstRows(PruneRequest request, List<FirstRows> first) {
    if (first.size() == 1) {
      request.setFirstRows(first.get(0));
    } else if (!first.isEmpty()) {
      request.setFirstRowsOfEach(first);
    }
  }

  private PruneRequest newRequest(HudiTable table, List<Path> locations, List<Node> nodes) {
    PruneRequest request = PruneRequests.create(table, newRequestId(job), nodes, settings);
    request.setSemantics(HiveSemantics.of(job));
    if (settings.rows()) {
      request.setSelectRows(true);
    }
    if (listsKept(table, locations)) {
      request.setListKept(true);
    }
    return request;
  }

  /** Returns an id for the next request of a query. */
  static String newRequestId(JobConf job) {
    return queryId(job) + "#" + REQUESTS.incrementAndGet();
  }

  static String queryId(JobConf job) {
    String id = job.get(QUERY_ID);
    return id == null || id.isEmpty() ? UUID.randomUUID().toString() : id;
  }

  private static long micros(long startNanos) {
    return TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - startNanos);
  }
}
