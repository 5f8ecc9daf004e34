package io.pyhudi.trino;

import io.trino.plugin.base.metrics.LongCount;
import io.trino.plugin.hive.HiveErrorCode;
import io.trino.plugin.hive.HiveSplit;
import io.trino.spi.TrinoException;
import io.trino.spi.connector.ConnectorSplit;
import io.trino.spi.connector.ConnectorSplitSource;
import io.trino.spi.metrics.Metrics;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Hive's splits, without those of files that are not to be read. At the end each file to read must
 * have come, byte by byte: a listing that is older than the service's answer, or lacks a file that
 * was cleaned since, is an error, as is a partition that the metastore does not know. Of partitions
 * that Hive leaves out by their values no file has to come.
 */
final class KeptSplits implements ConnectorSplitSource {
  private final ConnectorSplitSource listed;
  private final KeptFiles kept;
  private final boolean listsAll;
  private final Map<String, Long> bytes = new HashMap<>();
  private final Set<String> partitions = new HashSet<>();
  private final Set<String> dropped = new HashSet<>();

  /**
   * @param listsAll whether Hive lists every partition that is registered
   */
  KeptSplits(ConnectorSplitSource listed, KeptFiles kept, boolean listsAll) {
    this.listed = listed;
    this.kept = kept;
    this.listsAll = listsAll;
  }

  @Override
  public CompletableFuture<ConnectorSplitBatch> getNextBatch(int maxSize) {
    return listed.getNextBatch(maxSize).thenApply(this::keep);
  }

  private synchronized ConnectorSplitBatch keep(ConnectorSplitBatch batch) {
    List<ConnectorSplit> found = new ArrayList<>();
    for (ConnectorSplit split : batch.getSplits()) {
      if (isKept((HiveSplit) split)) {
        found.add(split);
      }
    }
    if (batch.isNoMoreSplits()) {
      checkComplete();
    }
    return new ConnectorSplitBatch(found, batch.isNoMoreSplits());
  }

  private boolean isKept(HiveSplit split) {
    String file = kept.below(split.getPath());
    partitions.add(partition(file));
    if (!kept.sizes().containsKey(file)) {
      dropped.add(file);
      return false;
    }
    bytes.merge(file, split.getLength(), Long::sum);
    return true;
  }

  private void checkComplete() {
    kept.sizes()
        .forEach(
            (file, size) -> {
              long found = bytes.getOrDefault(file, 0L);
              boolean isDue = listsAll || partitions.contains(partition(file));
              if (isDue && found != size) {
                throw new TrinoException(
                    HiveErrorCode.HIVE_FILESYSTEM_ERROR,
                    String.format(
                        "%s/%s: %d of %d bytes were listed. Repeat the query; is the partition registered?",
                        kept.table(), file, found, size));
              }
            });
  }

  private static String partition(String file) {
    return file.substring(0, Math.max(0, file.lastIndexOf('/')));
  }

  @Override
  public synchronized boolean isFinished() {
    return listed.isFinished();
  }

  @Override
  public void close() {
    listed.close();
  }

  @Override
  public Optional<List<Object>> getTableExecuteSplitsInfo() {
    return listed.getTableExecuteSplitsInfo();
  }

  /** The counters that Trino shows with the scan. */
  @Override
  public synchronized Metrics getMetrics() {
    return new Metrics(
        Map.of(
            "pyhudiFilesRead", new LongCount(bytes.size()),
            "pyhudiFilesListed", new LongCount(bytes.size() + dropped.size())));
  }
}
