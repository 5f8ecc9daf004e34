package io.pyhudi.hive.rows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.parquet.bytes.ByteBufferInputStream;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.BytesUtils;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.ValuesType;
import org.apache.parquet.column.values.ValuesReader;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridDecoder;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridEncoder;
import org.apache.parquet.compression.CompressionCodecFactory.BytesInputDecompressor;
import org.apache.parquet.format.DataPageHeader;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.PageType;
import org.apache.parquet.format.Util;

/**
 * Cuts rows out of data pages of one column.
 *
 * <p>The result is a page of version 2 that is not compressed, which its header may say whatever
 * the codec of the other pages. Indices of a dictionary stay indices of it. Other values are
 * encoded plainly.
 */
final class PageCutter {
  private static final int INITIAL_BYTES = 1 << 10;

  private final ColumnDescriptor column;
  private final BytesInputDecompressor decompressor;

  /**
   * @param decompressor of the column's pages
   */
  PageCutter(ColumnDescriptor column, BytesInputDecompressor decompressor) {
    this.column = column;
    this.decompressor = decompressor;
  }

  /**
   * Returns a page of some of a page's rows.
   *
   * @param rows the number of rows of the page
   * @param kept the rows to keep, counted from the first one of the page
   * @throws IOException if the page has another number of rows, or begins within one
   */
  Page cut(Page page, long rows, RowRanges kept) throws IOException {
    Decoded decoded = page.header().getType() == PageType.DATA_PAGE ? ofOne(page) : ofTwo(page);
    LevelWriter repetition = new LevelWriter(column.getMaxRepetitionLevel());
    LevelWriter definition = new LevelWriter(column.getMaxDefinitionLevel());
    RowRanges.Cursor cursor = kept.cursor();
    int values = 0;
    int nulls = 0;
    long row = -1;
    boolean isKept = false;
    for (int i = 0; i < decoded.count; i++) {
      int repetitionLevel = decoded.repetition.read();
      int definitionLevel = decoded.definition.read();
      if (repetitionLevel == 0) {
        isKept = cursor.contains(++row);
      }
      boolean isNull = definitionLevel < column.getMaxDefinitionLevel();
      if (isKept) {
        repetition.write(repetitionLevel);
        definition.write(definitionLevel);
        values++;
        nulls += isNull ? 1 : 0;
      }
      if (!isNull) {
        decoded.values.pass(isKept);
      }
      if (row < 0) {
        throw new IOException("a page of " + column + " begins within a row");
      }
    }
    if (row + 1 != rows) {
      throw new IOException(
          "a page of "
              + column
              + " has "
              + (row + 1)
              + " rows, not "
              + rows
              + " as its index says");
    }
    byte[] repetitionBytes = repetition.bytes();
    byte[] definitionBytes = definition.bytes();
    byte[] data = decoded.values.bytes();
    DataPageHeaderV2 version2 =
        new DataPageHeaderV2(
            values,
            nulls,
            Math.toIntExact(kept.count()),
            org.apache.parquet.format.Encoding.valueOf(decoded.values.encoding().name()),
            definitionBytes.length,
            repetitionBytes.length);
    version2.setIs_compressed(false);
    int length = repetitionBytes.length + definitionBytes.length + data.length;
    PageHeader header = new PageHeader(PageType.DATA_PAGE_V2, length, length);
    header.setData_page_header_v2(version2);
    ByteArrayOutputStream out = new ByteArrayOutputStream(length + 64);
    Util.writePageHeader(header, out);
    out.write(repetitionBytes);
    out.write(definitionBytes);
    out.write(data);
    return new Page(header, ByteBuffer.wrap(out.toByteArray()), out.size() - length);
  }

  /** The content of a page, to be read once. */
  private static final class Decoded {
    private final int count;
    private final LevelReader repetition;
    private final LevelReader definition;
    private final PassedValues values;

    Decoded(int count, LevelReader repetition, LevelReader definition, PassedValues values) {
      this.count = count;
      this.repetition = repetition;
      this.definition = definition;
      this.values = values;
    }
  }

  private interface LevelReader {
    int read() throws IOException;
  }

  private Decoded ofOne(Page page) throws IOException {
    DataPageHeader header = page.header().getData_page_header();
    ByteBufferInputStream in = decompressed(page.body(), page.header().getUncompressed_page_size());
    ValuesReader repetition =
        encoding(header.getRepetition_level_encoding())
            .getValuesReader(column, ValuesType.REPETITION_LEVEL);
    repetition.initFromPage(header.getNum_values(), in);
    ValuesReader definition =
        encoding(header.getDefinition_level_encoding())
            .getValuesReader(column, ValuesType.DEFINITION_LEVEL);
    definition.initFromPage(header.getNum_values(), in);
    PassedValues values =
        PassedValues.of(column, encoding(header.getEncoding()), header.getNum_values(), in);
    return new Decoded(
        header.getNum_values(), repetition::readInteger, definition::readInteger, values);
  }

  private Decoded ofTwo(Page page) throws IOException {
    DataPageHeaderV2 header = page.header().getData_page_header_v2();
    ByteBuffer body = page.body();
    int repetitionLength = header.getRepetition_levels_byte_length();
    int levelsLength = repetitionLength + header.getDefinition_levels_byte_length();
    ByteBuffer data = part(body, levelsLength, body.remaining());
    boolean isCompressed = !header.isSetIs_compressed() || header.isIs_compressed();
    ByteBufferInputStream in =
        isCompressed && data.hasRemaining()
            ? decompressed(data, page.header().getUncompressed_page_size() - levelsLength)
            : ByteBufferInputStream.wrap(data);
    return new Decoded(
        header.getNum_values(),
        levels(column.getMaxRepetitionLevel(), part(body, 0, repetitionLength)),
        levels(column.getMaxDefinitionLevel(), part(body, repetitionLength, levelsLength)),
        PassedValues.of(column, encoding(header.getEncoding()), header.getNum_values(), in));
  }

  private ByteBufferInputStream decompressed(ByteBuffer bytes, int length) throws IOException {
    BytesInput content = BytesInput.from(bytes);
    return BytesInput.from(decompressor.decompress(content, length).toByteArray()).toInputStream();
  }

  private static LevelReader levels(int max, ByteBuffer bytes) {
    if (max == 0) {
      return () -> 0;
    }
    RunLengthBitPackingHybridDecoder decoder =
        new RunLengthBitPackingHybridDecoder(
            BytesUtils.getWidthFromMaxInt(max), ByteBufferInputStream.wrap(bytes));
    return decoder::readInt;
  }

  private static Encoding encoding(org.apache.parquet.format.Encoding encoding) {
    return Encoding.valueOf(encoding.name());
  }

  private static ByteBuffer part(ByteBuffer bytes, int start, int end) {
    ByteBuffer part = bytes.duplicate();
    part.position(start);
    part.limit(end);
    return part.slice();
  }

  private static final class LevelWriter {
    private final RunLengthBitPackingHybridEncoder encoder;

    LevelWriter(int max) {
      encoder =
          max == 0
              ? null
              : new RunLengthBitPackingHybridEncoder(
                  BytesUtils.getWidthFromMaxInt(max),
                  INITIAL_BYTES,
                  INITIAL_BYTES,
                  HeapByteBufferAllocator.getInstance());
    }

    void write(int level) throws IOException {
      if (encoder != null) {
        encoder.writeInt(level);
      }
    }

    byte[] bytes() throws IOException {
      return encoder == null ? new byte[0] : encoder.toBytes().toByteArray();
    }
  }
}
