package io.pyhudi.hive.scan;

/** Where a scan has the list of its files from. */
public enum Listing {
  /** No file is read. */
  NONE,
  BY_SERVICE,
  BY_HUDI,
  /** By Hudi, because the service's list is of another state of the table, or is wrong. */
  BY_HUDI_INSTEAD
}
