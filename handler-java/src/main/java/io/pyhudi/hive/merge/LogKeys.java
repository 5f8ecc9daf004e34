package io.pyhudi.hive.merge;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.engine.HoodieReaderContext;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.read.BaseFileUpdateCallback;
import org.apache.hudi.common.table.read.HoodieReadStats;
import org.apache.hudi.common.table.read.InputSplit;
import org.apache.hudi.common.table.read.ReaderParameters;
import org.apache.hudi.common.table.read.buffer.FileGroupRecordBufferLoader;
import org.apache.hudi.common.table.read.buffer.HoodieFileGroupRecordBuffer;
import org.apache.hudi.common.table.read.buffer.KeyBasedFileGroupRecordBuffer;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;
import org.apache.hudi.storage.HoodieStorage;

/**
 * The record keys that the log files of a slice name, for data or for a deletion.
 *
 * <p>They are those of the buffer in which Hudi itself looks up each row of the base file, taken
 * when it has read the log files and no row yet. So nothing about log blocks is decided here:
 * neither which of them are valid, nor how their records are merged with each other.
 */
final class LogKeys implements FileGroupRecordBufferLoader<IndexedRecord> {
  /** More keys would take too much memory beside Hudi's buffer, which spills to disk. */
  private static final int MOST = 300_000;

  /** Stands for bytes that are no UTF-8, so equal keys may have been written in other bytes. */
  private static final char REPLACEMENT = '\uFFFD';

  private KeySet keys;
  private List<String> ordering = Collections.emptyList();

  /**
   * Returns the keys, or null if they are not known: there are too many, or Hudi does not merge by
   * keys.
   */
  KeySet keys() {
    return keys;
  }

  /** Returns the columns by which Hudi decides which one of two records with a key is newer. */
  List<String> ordering() {
    return ordering;
  }

  @Override
  public Pair<HoodieFileGroupRecordBuffer<IndexedRecord>, List<String>> getRecordBuffer(
      HoodieReaderContext<IndexedRecord> context,
      HoodieStorage storage,
      InputSplit split,
      List<String> orderingFields,
      HoodieTableMetaClient metaClient,
      TypedProperties properties,
      ReaderParameters parameters,
      HoodieReadStats stats,
      Option<BaseFileUpdateCallback<IndexedRecord>> callback) {
    FileGroupRecordBufferLoader<IndexedRecord> loader = FileGroupRecordBufferLoader.createDefault();
    Pair<HoodieFileGroupRecordBuffer<IndexedRecord>, List<String>> loaded =
        loader.getRecordBuffer(
            context,
            storage,
            split,
            orderingFields,
            metaClient,
            properties,
            parameters,
            stats,
            callback);
    keys = keys(loaded.getLeft());
    ordering = orderingFields;
    return loaded;
  }

  private static KeySet keys(HoodieFileGroupRecordBuffer<IndexedRecord> buffer) {
    // Other buffers, also those that extend this one, may pair rows in other ways.
    if (buffer.getClass() != KeyBasedFileGroupRecordBuffer.class || buffer.size() > MOST) {
      return null;
    }
    return keys(buffer.getLogRecords().keySet());
  }

  /** Returns null if some keys are no texts, or not the same text as in a base file. */
  static KeySet keys(Iterable<Serializable> named) {
    List<String> texts = new ArrayList<>();
    for (Serializable key : named) {
      if (!(key instanceof String) || !hasBytes((String) key)) {
        return null;
      }
      texts.add((String) key);
    }
    return KeySet.of(texts);
  }

  /** Returns whether a text stands for bytes of its own: half a surrogate pair has none. */
  private static boolean hasBytes(String key) {
    return key.indexOf(REPLACEMENT) < 0
        && new String(key.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8).equals(key);
  }
}
