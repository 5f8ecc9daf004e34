package io.pyhudi.spark.read;

import io.pyhudi.hive.protocol.PruneCounts;
import io.pyhudi.hive.table.Slice;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hudi.common.model.FileSlice;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Tuple2;

/** How many files of how many partitions slices have, and their bytes. */
final class SliceTotals {
  private final long files;
  private final long partitions;
  private final long bytes;

  private SliceTotals(long files, long partitions, long bytes) {
    this.files = files;
    this.partitions = partitions;
    this.bytes = bytes;
  }

  static SliceTotals of(List<Tuple2<InternalRow, FileSlice>> slices) {
    Set<String> partitions = new HashSet<>();
    long files = 0;
    long bytes = 0;
    for (Tuple2<InternalRow, FileSlice> found : slices) {
      Slice slice = Slice.snapshot(found._2());
      partitions.add(slice.partitionPath());
      files += slice.tokens().size();
      bytes += slice.bytes();
    }
    return new SliceTotals(files, partitions.size(), bytes);
  }

  /** Returns the counts of an answer by which a part of these is read. */
  PruneCounts keeping(SliceTotals kept, long elapsedMicros) {
    return new PruneCounts(
        files,
        files - kept.files,
        partitions,
        partitions - kept.partitions,
        bytes,
        bytes - kept.bytes,
        elapsedMicros);
  }
}
