package io.pyhudi.spark.read;

import io.pyhudi.spark.service.Answer;
import java.util.List;
import org.apache.hudi.common.model.FileSlice;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import scala.Tuple2;
import scala.collection.Seq;

/** The file slices among which a query of a Hudi table reads. */
interface Slices {
  /**
   * Returns the slices that have to be read, with the values of their partitions.
   *
   * @param partitionFilters those of the scan, which Spark does not evaluate again
   */
  List<Tuple2<InternalRow, FileSlice>> kept(Seq<Expression> partitionFilters, Answer answer);

  /** Returns the answer with the numbers of the files among which the query reads. */
  Answer counted(Seq<Expression> partitionFilters, Answer answer);

  /** Returns the size of what Hudi lists, in bytes, as far as Hudi knows it. */
  long listedBytes(Seq<Expression> partitionFilters);
}
