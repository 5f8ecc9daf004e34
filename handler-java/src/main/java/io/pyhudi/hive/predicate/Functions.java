package io.pyhudi.hive.predicate;

import org.apache.hadoop.hive.ql.exec.Description;
import org.apache.hadoop.hive.ql.exec.FunctionRegistry;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFBridge;

/** Determines the names of Hive's own functions in the protocol. */
final class Functions {
  private static final String HIVE = "org.apache.hadoop.hive.ql.udf.";

  private Functions() {}

  /**
   * Returns the function's first documented name, "cast" for every cast.
   *
   * @throws InexpressibleException for functions that are not Hive's own (their names mean nothing
   *     elsewhere) and for those that are non-deterministic or stateful
   */
  static String nameOf(GenericUDF function) throws InexpressibleException {
    Class<?> type =
        function instanceof GenericUDFBridge
            ? ((GenericUDFBridge) function).getUdfClass()
            : function.getClass();
    if (!type.getName().startsWith(HIVE)
        || !FunctionRegistry.isDeterministic(function)
        || FunctionRegistry.isStateful(function)) {
      throw new InexpressibleException("function " + type.getName());
    }
    if (FunctionRegistry.isOpCast(function)) {
      return "cast";
    }
    Description description = type.getAnnotation(Description.class);
    if (description == null || description.name().isEmpty()) {
      throw new InexpressibleException("function " + type.getName());
    }
    return description.name().split(",")[0].trim();
  }
}
