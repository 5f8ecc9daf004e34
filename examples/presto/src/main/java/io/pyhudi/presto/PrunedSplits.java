package io.pyhudi.presto;

import com.facebook.presto.spi.ConnectorSplit;
import com.facebook.presto.spi.ConnectorSplitSource;
import com.facebook.presto.spi.connector.ConnectorPartitionHandle;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.UnaryOperator;

/**
 * Splits of which some are left out. All are listed first: what the service proves about the files
 * of a partition, it proves about the partition's whole listing.
 */
final class PrunedSplits implements ConnectorSplitSource {
  private static final int BATCH = 1_000;
  private static final Executor THREADS =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "pyhudi-splits");
            thread.setDaemon(true);
            return thread;
          });

  private final ConnectorSplitSource listed;
  private final UnaryOperator<List<ConnectorSplit>> pruner;
  private CompletableFuture<Queue<ConnectorSplit>> kept;

  PrunedSplits(ConnectorSplitSource listed, UnaryOperator<List<ConnectorSplit>> pruner) {
    this.listed = listed;
    this.pruner = pruner;
  }

  @Override
  public synchronized CompletableFuture<ConnectorSplitBatch> getNextBatch(
      ConnectorPartitionHandle partition, int maxSize) {
    if (kept == null) {
      kept = CompletableFuture.supplyAsync(() -> prune(partition), THREADS);
    }
    return kept.thenApply(splits -> nextOf(splits, maxSize));
  }

  @Override
  public synchronized boolean isFinished() {
    return kept != null
        && kept.isDone()
        && !kept.isCompletedExceptionally()
        && kept.join().isEmpty();
  }

  @Override
  public void close() {
    listed.close();
  }

  private Queue<ConnectorSplit> prune(ConnectorPartitionHandle partition) {
    List<ConnectorSplit> all = new ArrayList<>();
    while (!listed.isFinished()) {
      all.addAll(listed.getNextBatch(partition, BATCH).join().getSplits());
    }
    return new ArrayDeque<>(pruner.apply(all));
  }

  private static ConnectorSplitBatch nextOf(Queue<ConnectorSplit> splits, int maxSize) {
    List<ConnectorSplit> batch = new ArrayList<>();
    synchronized (splits) {
      while (batch.size() < maxSize && !splits.isEmpty()) {
        batch.add(splits.remove());
      }
      return new ConnectorSplitBatch(batch, splits.isEmpty());
    }
  }
}
