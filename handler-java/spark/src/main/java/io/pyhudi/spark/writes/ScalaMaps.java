package io.pyhudi.spark.writes;

import java.util.Map;
import scala.Tuple2;
import scala.collection.immutable.Map$;

/** Scala's immutable maps of options. */
final class ScalaMaps {
  private ScalaMaps() {}

  static scala.collection.immutable.Map<String, String> of(Map<String, String> options) {
    return with(Map$.MODULE$.empty(), options);
  }

  /** Returns a map with more entries. */
  static scala.collection.immutable.Map<String, String> with(
      scala.collection.immutable.Map<String, String> options, Map<String, String> more) {
    scala.collection.immutable.Map<String, String> all = options;
    for (Map.Entry<String, String> each : more.entrySet()) {
      all = all.$plus(new Tuple2<>(each.getKey(), each.getValue()));
    }
    return all;
  }
}
