package io.pyhudi.spark.read;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** The files of a Hudi table that a query may need; plans show how many these are. */
final class PrunedRelation extends HadoopFsRelation {
  private static final long serialVersionUID = 1L;

  private final PrunedFileIndex index;

  PrunedRelation(HadoopFsRelation files, PrunedFileIndex index) {
    super(
        index,
        files.partitionSchema(),
        files.dataSchema(),
        files.bucketSpec(),
        files.fileFormat(),
        files.options(),
        files.sparkSession());
    this.index = index;
  }

  /** Returns the relation for a scan that lists its files by further conditions. */
  PrunedRelation with(List<Expression> conditions) {
    return new PrunedRelation(this, index.with(conditions));
  }

  @Override
  public String toString() {
    return super.toString() + " [" + location() + "]";
  }
}
