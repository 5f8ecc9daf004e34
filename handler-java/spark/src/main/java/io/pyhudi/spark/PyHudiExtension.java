package io.pyhudi.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What {@code spark.sql.extensions} names: Hudi tables are read with our pruning, and our
 * statements about indexes and layouts are understood. It stands behind Hudi's own extension.
 */
public final class PyHudiExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    Reads.extend(extensions);
    Statements.extend(extensions);
    return BoxedUnit.UNIT;
  }
}
