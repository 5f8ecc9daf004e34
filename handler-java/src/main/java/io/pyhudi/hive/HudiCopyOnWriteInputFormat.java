package io.pyhudi.hive;

import org.apache.hadoop.mapred.JobConf;

/**
 * Reads base files only: all rows of a copy-on-write table, and the read-optimised view of a
 * merge-on-read table.
 */
public final class HudiCopyOnWriteInputFormat extends HudiInputFormat {
  @Override
  PruningSettings settings(JobConf job) {
    return PruningSettings.ofJob(job).readOptimized();
  }
}
