package io.pyhudi.spark.writes;

import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import org.apache.hudi.HoodieStreamingSink;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.streaming.WriteToStream;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** Structured streaming into Hudi's sink, which keeps the options of its start. */
final class HudiStreams {
  /** The sink takes its partition columns from its options. */
  private static final Seq<String> UNUSED_COLUMNS =
      JavaConverters.asScalaBuffer(Collections.<String>emptyList()).toList();

  private HudiStreams() {}

  /**
   * Returns the write of a stream that is about to start; none: its sink is another one, or has no
   * path.
   */
  static Optional<TableWrite> write(SparkSession session, WriteToStream stream) {
    if (!(stream.sink() instanceof HoodieStreamingSink)) {
      return Optional.empty();
    }
    scala.collection.immutable.Map<String, String> options =
        ((HoodieStreamingSink) stream.sink()).org$apache$hudi$HoodieStreamingSink$$options;
    Map<String, String> given = JavaConverters.mapAsJavaMap(options);
    String path = given.get(TableWrite.PATH);
    return Optional.ofNullable(path)
        .map(
            table ->
                new TableWrite(
                    table,
                    Collections.unmodifiableMap(given),
                    more -> with(session, stream, ScalaMaps.with(options, more))));
  }

  private static WriteToStream with(
      SparkSession session,
      WriteToStream stream,
      scala.collection.immutable.Map<String, String> options) {
    HoodieStreamingSink sink =
        new HoodieStreamingSink(session.sqlContext(), options, UNUSED_COLUMNS, stream.outputMode());
    return stream.copy(
        stream.name(),
        stream.resolvedCheckpointLocation(),
        sink,
        stream.outputMode(),
        stream.deleteCheckpointOnStop(),
        stream.inputQuery(),
        stream.catalogAndIdent(),
        stream.catalogTable());
  }
}
