package io.pyhudi.hive;

import org.apache.hadoop.mapred.JobConf;

/**
 * Reads base files merged with their log files, or the read-optimised view if {@code hudi.view}
 * selects it.
 */
public final class HudiMergeOnReadInputFormat extends HudiInputFormat {
  @Override
  PruningSettings settings(JobConf job) {
    return PruningSettings.ofJob(job);
  }
}
