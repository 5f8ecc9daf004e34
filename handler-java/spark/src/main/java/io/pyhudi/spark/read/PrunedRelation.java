package io.pyhudi.spark.read;

import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** The files of a Hudi table that a query may need; plans show how many these are. */
final class PrunedRelation extends HadoopFsRelation {
  private static final long serialVersionUID = 1L;

  PrunedRelation(HadoopFsRelation files, PrunedFileIndex index) {
    super(
        index,
        files.partitionSchema(),
        files.dataSchema(),
        files.bucketSpec(),
        files.fileFormat(),
        files.options(),
        files.sparkSession());
  }

  @Override
  public String toString() {
    return super.toString() + " [" + location() + "]";
  }
}
