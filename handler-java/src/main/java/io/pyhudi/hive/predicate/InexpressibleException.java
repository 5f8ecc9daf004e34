package io.pyhudi.hive.predicate;

/** Thrown for an expression that the protocol cannot express exactly; it is sent as UNKNOWN. */
final class InexpressibleException extends Exception {
  private static final long serialVersionUID = 1L;

  InexpressibleException(String what) {
    super(what, null, false, false);
  }
}
