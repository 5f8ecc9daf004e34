package io.pyhudi.hive.predicate;

/** An expression that the protocol cannot say exactly; it travels as UNKNOWN. */
final class InexpressibleException extends Exception {
  private static final long serialVersionUID = 1L;

  InexpressibleException(String what) {
    super(what, null, false, false);
  }
}
