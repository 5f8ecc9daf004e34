package io.pyhudi.hive.rows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.PageLocation;

/** The pages of one column chunk that hold selected rows of its row group. */
final class SelectedPages {
  private final ColumnDescriptor column;
  private final ColumnMetaData chunk;
  private final List<ByteRange> places = new ArrayList<>();
  private final List<Long> rows = new ArrayList<>();
  private final List<RowRanges> kept = new ArrayList<>();
  private final ByteRange dictionary;
  private final List<Page> pages = new ArrayList<>();

  /**
   * @param index of the chunk's pages
   * @param groupRows the number of rows in the row group
   * @param selected the rows to read, counted from the first one of the row group
   */
  SelectedPages(
      ColumnDescriptor column,
      ColumnMetaData chunk,
      OffsetIndex index,
      long groupRows,
      RowRanges selected)
      throws IOException {
    this.column = column;
    this.chunk = chunk;
    List<PageLocation> locations = index.getPage_locations();
    long first = 0;
    for (int i = 0; i < locations.size(); i++) {
      PageLocation page = locations.get(i);
      long next = i + 1 < locations.size() ? locations.get(i + 1).getFirst_row_index() : groupRows;
      if (page.getFirst_row_index() != first || next < first) {
        throw new IOException("the pages of " + column + " have no order of rows");
      }
      RowRanges ofPage = selected.within(first, next);
      if (!ofPage.isEmpty()) {
        places.add(new ByteRange(page.getOffset(), page.getCompressed_page_size()));
        rows.add(next - first);
        kept.add(ofPage);
      }
      first = next;
    }
    if (places.isEmpty()) {
      throw new IOException("no page of " + column + " holds the rows " + selected);
    }
    long start = start(chunk);
    dictionary = new ByteRange(start, locations.get(0).getOffset() - start);
  }

  /** Returns where a chunk starts: with its dictionary, if it has one. */
  static long start(ColumnMetaData chunk) {
    long data = chunk.getData_page_offset();
    long dictionary = chunk.isSetDictionary_page_offset() ? chunk.getDictionary_page_offset() : 0;
    return dictionary > 0 ? Math.min(dictionary, data) : data;
  }

  /** Returns where the pages lie in the file. */
  List<ByteRange> places() {
    return places;
  }

  /** Takes the pages, and cuts other rows out of them. */
  void take(Map<ByteRange, ByteBuffer> fetched, PageCutter cutter) throws IOException {
    for (int i = 0; i < places.size(); i++) {
      Page page = Page.of(fetched.get(places.get(i)));
      if (column.getMaxRepetitionLevel() == 0 && page.values() != rows.get(i)) {
        throw new IOException("a page of " + column + " has not " + rows.get(i) + " rows");
      }
      pages.add(
          kept.get(i).covers(0, rows.get(i)) ? page : cutter.cut(page, rows.get(i), kept.get(i)));
    }
  }

  /** Returns where the dictionary lies in the file, or null if no page needs one. */
  ByteRange dictionary() {
    return dictionary.length() > 0 && pages.stream().anyMatch(Page::usesDictionary)
        ? dictionary
        : null;
  }

  /**
   * Adds the pages to content.
   *
   * @param dictionaryPage with its header, or null
   * @return their metadata there
   */
  ColumnMetaData addTo(ContentLayout layout, ByteBuffer dictionaryPage) {
    ColumnMetaData copy = ContentLayout.bare(chunk);
    long start = layout.position();
    copy.unsetDictionary_page_offset();
    if (dictionaryPage != null) {
      copy.setDictionary_page_offset(start);
      layout.add(Segment.ofMemory(dictionaryPage));
    }
    copy.setData_page_offset(layout.position());
    Set<Encoding> encodings = new HashSet<>(chunk.getEncodings());
    long uncompressed = dictionaryPage == null ? 0 : dictionaryPage.remaining();
    long values = 0;
    for (Page page : pages) {
      layout.add(Segment.ofMemory(page.bytes()));
      encodings.add(page.encoding());
      uncompressed += page.uncompressedBytes();
      values += page.values();
    }
    encodings.add(Encoding.RLE);
    copy.setEncodings(new ArrayList<>(encodings));
    copy.setNum_values(values);
    copy.setTotal_uncompressed_size(uncompressed);
    copy.setTotal_compressed_size(layout.position() - start);
    return copy;
  }
}
