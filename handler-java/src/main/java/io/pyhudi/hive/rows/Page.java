package io.pyhudi.hive.rows;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.parquet.bytes.ByteBufferInputStream;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.Util;

/** A data page with its header. */
final class Page {
  private final PageHeader header;
  private final ByteBuffer bytes;
  private final int headerLength;

  Page(PageHeader header, ByteBuffer bytes, int headerLength) {
    this.header = header;
    this.bytes = bytes;
    this.headerLength = headerLength;
  }

  /**
   * @param bytes the header and the page
   * @throws IOException if these are not the bytes of one data page
   */
  static Page of(ByteBuffer bytes) throws IOException {
    ByteBufferInputStream in = ByteBufferInputStream.wrap(bytes.duplicate());
    PageHeader header = Util.readPageHeader(in);
    int headerLength = Math.toIntExact(in.position());
    boolean isData = header.isSetData_page_header() || header.isSetData_page_header_v2();
    if (!isData || headerLength + header.getCompressed_page_size() != bytes.remaining()) {
      throw new IOException(
          "no data page of " + bytes.remaining() + " bytes as its index says: " + header);
    }
    return new Page(header, bytes, headerLength);
  }

  PageHeader header() {
    return header;
  }

  /** Returns the page with its header. */
  ByteBuffer bytes() {
    return bytes.duplicate();
  }

  /** Returns the page without its header. */
  ByteBuffer body() {
    ByteBuffer body = bytes.duplicate();
    body.position(headerLength);
    return body.slice();
  }

  /** Returns the number of values with the NULLs. */
  int values() {
    return header.isSetData_page_header()
        ? header.getData_page_header().getNum_values()
        : header.getData_page_header_v2().getNum_values();
  }

  Encoding encoding() {
    return header.isSetData_page_header()
        ? header.getData_page_header().getEncoding()
        : header.getData_page_header_v2().getEncoding();
  }

  boolean usesDictionary() {
    return encoding() == Encoding.PLAIN_DICTIONARY || encoding() == Encoding.RLE_DICTIONARY;
  }

  /** Returns the size of page and header if nothing was compressed, bytes. */
  long uncompressedBytes() {
    return (long) headerLength + header.getUncompressed_page_size();
  }
}
