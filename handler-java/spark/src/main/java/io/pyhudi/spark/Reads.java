package io.pyhudi.spark;

import io.pyhudi.spark.read.HideKeys;
import io.pyhudi.spark.read.HudiSkippingOff;
import io.pyhudi.spark.read.PruneRelations;
import io.pyhudi.spark.read.RuntimeConditions;
import org.apache.spark.sql.SparkSessionExtensions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The part of the extension that prunes the files of reads. */
final class Reads {
  private static final Logger LOG = LoggerFactory.getLogger(Reads.class);

  /** Of Hudi's bundle, which is the user's. */
  private static final String FILE_INDEX = "org.apache.hudi.HoodieFileIndex";

  private Reads() {}

  static void extend(SparkSessionExtensions extensions) {
    if (!hasHudi()) {
      LOG.warn("Hudi's bundle for Spark is not on the class path: no files are pruned");
      return;
    }
    extensions.injectResolutionRule(session -> new HideKeys(session));
    extensions.injectPostHocResolutionRule(session -> new HudiSkippingOff(session));
    // After filters were pushed down, before joins are ordered and chosen by the sizes of their
    // sides.
    extensions.injectPreCBORule(session -> new PruneRelations(session));
    extensions.injectColumnar(session -> new RuntimeConditions());
  }

  private static boolean hasHudi() {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    try {
      Class.forName(FILE_INDEX, false, loader == null ? Reads.class.getClassLoader() : loader);
      return true;
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }
}
