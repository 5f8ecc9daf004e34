package io.pyhudi.spark.service;

/** A table's keys are virtual, and a column of them is missing, or null in a row. */
public final class LacksKeysException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  LacksKeysException(String message) {
    super(message);
  }
}
