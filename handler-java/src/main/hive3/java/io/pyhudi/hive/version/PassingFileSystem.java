package io.pyhudi.hive.version;

import org.apache.hadoop.fs.FilterFileSystem;

/** Passes all on to another file system. Hive 3.1's Hadoop opens files in one way only. */
public abstract class PassingFileSystem extends FilterFileSystem {}
