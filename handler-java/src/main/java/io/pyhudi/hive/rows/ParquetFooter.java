package io.pyhudi.hive.rows;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.Util;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.parquet.schema.MessageType;

/** The end of a Parquet file: its metadata, their length, and the magic number. */
final class ParquetFooter {
  static final byte[] MAGIC = "PAR1".getBytes(StandardCharsets.US_ASCII);

  /** The length of the metadata, and the magic number. */
  private static final int TAIL_BYTES = 8;

  private ParquetFooter() {}

  /**
   * Reads the metadata of a file. Returns null if they are others than those with this digest.
   *
   * @param length the file's length in bytes
   * @param digest SHA-256
   */
  static FileMetaData read(FSDataInputStream file, long length, byte[] digest) throws IOException {
    byte[] metadata = bytes(file, length);
    return metadata != null && MessageDigest.isEqual(sha256(metadata), digest)
        ? Util.readFileMetaData(new ByteArrayInputStream(metadata))
        : null;
  }

  /**
   * Reads the metadata of a file. Returns null if it has none that are not encrypted.
   *
   * @param length the file's length in bytes
   */
  static FileMetaData read(FSDataInputStream file, long length) throws IOException {
    byte[] metadata = bytes(file, length);
    return metadata == null ? null : Util.readFileMetaData(new ByteArrayInputStream(metadata));
  }

  private static byte[] bytes(FSDataInputStream file, long length) throws IOException {
    if (length < MAGIC.length + TAIL_BYTES) {
      return null;
    }
    byte[] tail = new byte[TAIL_BYTES];
    file.readFully(length - TAIL_BYTES, tail);
    int bytes = ByteBuffer.wrap(tail).order(ByteOrder.LITTLE_ENDIAN).getInt();
    boolean isParquet = Arrays.equals(Arrays.copyOfRange(tail, 4, TAIL_BYTES), MAGIC);
    if (!isParquet || bytes <= 0 || bytes > length - TAIL_BYTES - MAGIC.length) {
      return null;
    }
    byte[] metadata = new byte[bytes];
    file.readFully(length - TAIL_BYTES - bytes, metadata);
    return metadata;
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  static MessageType schema(FileMetaData metadata) throws IOException {
    FileMetaData schema =
        new FileMetaData(
            metadata.getVersion(), metadata.getSchema(), 0, Collections.<RowGroup>emptyList());
    return new ParquetMetadataConverter().fromParquetMetadata(schema).getFileMetaData().getSchema();
  }

  /** Returns the end of a file with the same metadata but other row groups. */
  static ByteBuffer write(FileMetaData metadata, List<RowGroup> groups) throws IOException {
    FileMetaData copy =
        new FileMetaData(
            metadata.getVersion(),
            metadata.getSchema(),
            groups.stream().mapToLong(RowGroup::getNum_rows).sum(),
            groups);
    copy.setKey_value_metadata(metadata.getKey_value_metadata());
    copy.setCreated_by(metadata.getCreated_by());
    copy.setColumn_orders(metadata.getColumn_orders());
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Util.writeFileMetaData(copy, out);
    ByteBuffer tail = ByteBuffer.allocate(TAIL_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    tail.putInt(out.size()).put(MAGIC);
    out.write(tail.array());
    return ByteBuffer.wrap(out.toByteArray());
  }
}
