package io.pyhudi.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What {@code spark.sql.extensions} names: Hudi tables are read with our pruning, and our
 * statements about indexes and layouts are understood. It stands behind Hudi's own extension.
 *
 * <p>Sessions of a Spark whose planner and Scala are others remain as they are.
 */
public final class PyHudiExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private static final Logger LOG = LoggerFactory.getLogger(PyHudiExtension.class);
  private static final String SUPPORTED = "3.5";

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    String version = org.apache.spark.package$.MODULE$.SPARK_VERSION();
    if (version.startsWith(SUPPORTED + ".")) {
      Reads.extend(extensions);
      Statements.extend(extensions);
    } else {
      LOG.warn(
          "the extension is for Spark {}, this is {}: no files are pruned, and there are no"
              + " statements",
          SUPPORTED,
          version);
    }
    return BoxedUnit.UNIT;
  }
}
