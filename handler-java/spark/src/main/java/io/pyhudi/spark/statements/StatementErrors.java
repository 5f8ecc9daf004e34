package io.pyhudi.spark.statements;

/** Spark's exceptions are checked ones in Java, and thrown by methods that declare none. */
final class StatementErrors {
  private StatementErrors() {}

  /** Throws the error itself; the type of the result is for the compiler of the caller. */
  static RuntimeException unchecked(Exception error) {
    throw StatementErrors.<RuntimeException>same(error);
  }

  @SuppressWarnings("unchecked")
  private static <E extends Exception> E same(Exception error) throws E {
    throw (E) error;
  }
}
