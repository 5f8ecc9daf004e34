package io.pyhudi.hive.merge;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.parquet.bytes.ByteBufferInputStream;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.BytesUtils;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Dictionary;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.ValuesType;
import org.apache.parquet.column.page.DataPage;
import org.apache.parquet.column.page.DataPageV1;
import org.apache.parquet.column.page.DataPageV2;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.page.PageReader;
import org.apache.parquet.column.values.ValuesReader;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridDecoder;
import org.apache.parquet.io.api.Binary;

/**
 * The key column of one row group, of which every value is compared with some keys.
 *
 * <p>Parquet's own reader of columns makes an object of each value, which takes ten times as long
 * as to look it up where it lies in its page.
 */
final class KeyPages {
  private final ColumnDescriptor column;
  private final KeySet keys;
  private final Found found;
  private Dictionary dictionary;
  private int[] ofDictionary;
  private long row;

  /**
   * @param column of texts, not repeated
   * @param first the first row of the row group
   */
  KeyPages(ColumnDescriptor column, KeySet keys, long first, Found found) {
    this.column = column;
    this.keys = keys;
    this.found = found;
    this.row = first;
  }

  /** Takes a row that has a key, and the key's number. */
  interface Found {
    void add(long row, int key);
  }

  /** Returns the number of a value's key, or -1, for one value after another. */
  private interface Lookup {
    int next() throws IOException;
  }

  /** Returns whether there is a value, for one row after another. */
  private interface Levels {
    boolean next() throws IOException;
  }

  /** Compares all values. Returns the row behind the last one. */
  long compare(PageReader pages) throws IOException {
    DictionaryPage dictionaryPage = pages.readDictionaryPage();
    if (dictionaryPage != null) {
      dictionary = dictionaryPage.getEncoding().initDictionary(column, dictionaryPage);
      ofDictionary = new int[dictionary.getMaxId() + 1];
      for (int id = 0; id < ofDictionary.length; id++) {
        ofDictionary[id] = find(dictionary.decodeToBinary(id));
      }
    }
    for (DataPage page; (page = pages.readPage()) != null; ) {
      if (page instanceof DataPageV1) {
        compare((DataPageV1) page);
      } else {
        compare((DataPageV2) page);
      }
    }
    return row;
  }

  private int find(Binary value) {
    ByteBuffer bytes = value.toByteBuffer();
    return keys.find(bytes, bytes.position(), bytes.remaining());
  }

  private void compare(DataPageV1 page) throws IOException {
    ByteBufferInputStream in = page.getBytes().toInputStream();
    page.getRlEncoding()
        .getValuesReader(column, ValuesType.REPETITION_LEVEL)
        .initFromPage(page.getValueCount(), in);
    ValuesReader levels = page.getDlEncoding().getValuesReader(column, ValuesType.DEFINITION_LEVEL);
    levels.initFromPage(page.getValueCount(), in);
    int max = column.getMaxDefinitionLevel();
    compare(
        page.getValueCount(),
        max == 0 ? () -> true : () -> levels.readInteger() == max,
        lookup(page.getValueEncoding(), page.getValueCount(), in));
  }

  private void compare(DataPageV2 page) throws IOException {
    int max = column.getMaxDefinitionLevel();
    BytesInput levels = page.getDefinitionLevels();
    RunLengthBitPackingHybridDecoder decoder =
        new RunLengthBitPackingHybridDecoder(
            BytesUtils.getWidthFromMaxInt(max), levels.toInputStream());
    compare(
        page.getValueCount(),
        max == 0 ? () -> true : () -> decoder.readInt() == max,
        lookup(page.getDataEncoding(), page.getValueCount(), page.getData().toInputStream()));
  }

  private void compare(int rows, Levels levels, Lookup lookup) throws IOException {
    for (long end = row + rows; row < end; row++) {
      int key = levels.next() ? lookup.next() : -1;
      if (key >= 0) {
        found.add(row, key);
      }
    }
  }

  private Lookup lookup(Encoding encoding, int count, ByteBufferInputStream in) throws IOException {
    if (encoding == Encoding.PLAIN) {
      return new PlainTexts(in.slice(in.available()).slice());
    }
    if (encoding.usesDictionary()) {
      ValuesReader ids =
          encoding.getDictionaryBasedValuesReader(column, ValuesType.VALUES, dictionary);
      ids.initFromPage(count, in);
      return () -> ofDictionary[ids.readValueDictionaryId()];
    }
    ValuesReader values = encoding.getValuesReader(column, ValuesType.VALUES);
    values.initFromPage(count, in);
    return () -> find(values.readBytes());
  }

  /** Texts one after another, each behind its length. */
  private final class PlainTexts implements Lookup {
    private final ByteBuffer bytes;
    private int position;

    PlainTexts(ByteBuffer bytes) {
      this.bytes = bytes;
    }

    @Override
    public int next() throws IOException {
      int length = Integer.reverseBytes(bytes.getInt(position));
      int start = position + Integer.BYTES;
      if (length < 0 || length > bytes.limit() - start) {
        throw new IOException("a page of " + column + " ends within a value");
      }
      position = start + length;
      return keys.find(bytes, start, length);
    }
  }
}
