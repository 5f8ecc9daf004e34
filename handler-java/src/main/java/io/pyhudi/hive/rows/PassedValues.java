package io.pyhudi.hive.rows;

import java.io.IOException;
import org.apache.parquet.bytes.ByteBufferInputStream;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.ValuesType;
import org.apache.parquet.column.values.ValuesReader;
import org.apache.parquet.column.values.ValuesWriter;
import org.apache.parquet.column.values.plain.BooleanPlainValuesWriter;
import org.apache.parquet.column.values.plain.FixedLenByteArrayPlainValuesWriter;
import org.apache.parquet.column.values.plain.PlainValuesWriter;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridDecoder;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridEncoder;

/** The values of a page, of which some are passed on. */
abstract class PassedValues {
  private static final int INITIAL_BYTES = 1 << 12;
  private static final int SLAB_BYTES = 1 << 20;
  private static final int INT96_BYTES = 12;

  private final Encoding encoding;
  private int skipped;

  private PassedValues(Encoding encoding) {
    this.encoding = encoding;
  }

  /**
   * @param encoding of the values
   * @param count the number of values with the NULLs
   * @param in the values
   */
  static PassedValues of(
      ColumnDescriptor column, Encoding encoding, int count, ByteBufferInputStream in)
      throws IOException {
    if (encoding.usesDictionary()) {
      return new Indices(encoding, in);
    }
    ValuesReader values = encoding.getValuesReader(column, ValuesType.VALUES);
    values.initFromPage(count, in);
    return new Plain(column, values);
  }

  /** Passes the next value on, or drops it. */
  final void pass(boolean isKept) throws IOException {
    if (!isKept) {
      skipped++;
      return;
    }
    if (skipped > 0) {
      skip(skipped);
      skipped = 0;
    }
    copy();
  }

  abstract void skip(int values) throws IOException;

  abstract void copy() throws IOException;

  /** Returns what was passed on. */
  abstract byte[] bytes() throws IOException;

  /** Returns the encoding of what was passed on. */
  final Encoding encoding() {
    return encoding;
  }

  /** Indices of a dictionary. */
  private static final class Indices extends PassedValues {
    private final int bitWidth;
    private final RunLengthBitPackingHybridDecoder in;
    private final RunLengthBitPackingHybridEncoder out;

    Indices(Encoding encoding, ByteBufferInputStream bytes) throws IOException {
      super(encoding);
      // A page of NULLs alone may have no byte at all.
      bitWidth = bytes.available() == 0 ? 0 : bytes.read();
      in = new RunLengthBitPackingHybridDecoder(bitWidth, bytes);
      out =
          new RunLengthBitPackingHybridEncoder(
              bitWidth, INITIAL_BYTES, SLAB_BYTES, HeapByteBufferAllocator.getInstance());
    }

    @Override
    void skip(int values) throws IOException {
      for (int i = 0; i < values; i++) {
        in.readInt();
      }
    }

    @Override
    void copy() throws IOException {
      out.writeInt(in.readInt());
    }

    @Override
    byte[] bytes() throws IOException {
      byte[] indices = out.toBytes().toByteArray();
      byte[] bytes = new byte[1 + indices.length];
      bytes[0] = (byte) bitWidth;
      System.arraycopy(indices, 0, bytes, 1, indices.length);
      return bytes;
    }
  }

  /** Values in any encoding of their own, passed on as plain ones. */
  private static final class Plain extends PassedValues {
    private final ValuesReader in;
    private final ValuesWriter out;
    private final Runnable copy;

    Plain(ColumnDescriptor column, ValuesReader in) {
      super(Encoding.PLAIN);
      this.in = in;
      this.out = writer(column);
      this.copy = copy(column);
    }

    private static ValuesWriter writer(ColumnDescriptor column) {
      HeapByteBufferAllocator allocator = HeapByteBufferAllocator.getInstance();
      switch (column.getPrimitiveType().getPrimitiveTypeName()) {
        case BOOLEAN:
          return new BooleanPlainValuesWriter();
        case INT96:
          return new FixedLenByteArrayPlainValuesWriter(
              INT96_BYTES, INITIAL_BYTES, SLAB_BYTES, allocator);
        case FIXED_LEN_BYTE_ARRAY:
          return new FixedLenByteArrayPlainValuesWriter(
              column.getPrimitiveType().getTypeLength(), INITIAL_BYTES, SLAB_BYTES, allocator);
        default:
          return new PlainValuesWriter(INITIAL_BYTES, SLAB_BYTES, allocator);
      }
    }

    private Runnable copy(ColumnDescriptor column) {
      switch (column.getPrimitiveType().getPrimitiveTypeName()) {
        case BOOLEAN:
          return () -> out.writeBoolean(in.readBoolean());
        case INT32:
          return () -> out.writeInteger(in.readInteger());
        case INT64:
          return () -> out.writeLong(in.readLong());
        case FLOAT:
          return () -> out.writeFloat(in.readFloat());
        case DOUBLE:
          return () -> out.writeDouble(in.readDouble());
        default:
          return () -> out.writeBytes(in.readBytes());
      }
    }

    @Override
    void skip(int values) {
      in.skip(values);
    }

    @Override
    void copy() {
      copy.run();
    }

    @Override
    byte[] bytes() throws IOException {
      return out.getBytes().toByteArray();
    }
  }
}
