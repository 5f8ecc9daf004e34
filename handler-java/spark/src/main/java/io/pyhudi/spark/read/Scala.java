package io.pyhudi.spark.read;

import java.util.List;
import java.util.Set;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/** Converts lists of Java and sequences of Scala. */
final class Scala {
  private Scala() {}

  static <T> List<T> list(Seq<T> sequence) {
    return JavaConverters.seqAsJavaListConverter(sequence).asJava();
  }

  static <T> scala.collection.immutable.Set<T> set(Set<T> set) {
    return JavaConverters.asScalaSetConverter(set).asScala().<T>toSet();
  }

  static <T> Seq<T> seq(List<T> list) {
    return JavaConverters.asScalaBufferConverter(list).asScala().toList();
  }
}
