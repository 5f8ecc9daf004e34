package io.pyhudi.hive.rows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.RowGroup;

/** Lays out the row groups of {@link SelectedContent} one after another. */
final class ContentLayout {
  private final List<Segment> segments = new ArrayList<>();
  private final List<RowGroup> groups = new ArrayList<>();
  private final RowRanges.Collector rows = new RowRanges.Collector();
  private long position;

  ContentLayout() {
    add(Segment.ofMemory(ByteBuffer.wrap(ParquetFooter.MAGIC)));
  }

  long position() {
    return position;
  }

  void add(Segment segment) {
    segments.add(segment);
    position += segment.length();
  }

  /** Returns a copy without what describes other bytes than the chunk's. */
  static ColumnMetaData bare(ColumnMetaData chunk) {
    ColumnMetaData copy = new ColumnMetaData(chunk);
    copy.unsetStatistics();
    copy.unsetEncoding_stats();
    copy.unsetBloom_filter_offset();
    copy.unsetIndex_page_offset();
    return copy;
  }

  /**
   * Adds chunks as they lie in the file, with all rows of their row group.
   *
   * @param ofFile these rows
   */
  void addWhole(FSDataInputStream file, List<ColumnMetaData> chunks, RowRanges ofFile) {
    long groupStart = position;
    List<ColumnMetaData> moved = new ArrayList<>();
    for (ColumnMetaData chunk : chunks) {
      long start = SelectedPages.start(chunk);
      long distance = position - start;
      ColumnMetaData copy = bare(chunk);
      copy.setData_page_offset(chunk.getData_page_offset() + distance);
      if (chunk.isSetDictionary_page_offset() && chunk.getDictionary_page_offset() > 0) {
        copy.setDictionary_page_offset(chunk.getDictionary_page_offset() + distance);
      }
      moved.add(copy);
      add(Segment.ofFile(file, start, chunk.getTotal_compressed_size()));
    }
    addGroup(groupStart, moved, ofFile);
  }

  /**
   * Adds the row group of chunks that were added from {@code start} on.
   *
   * @param ofFile the rows in the chunks
   */
  void addGroup(long start, List<ColumnMetaData> chunks, RowRanges ofFile) {
    List<ColumnChunk> columns = new ArrayList<>();
    long uncompressed = 0;
    for (ColumnMetaData chunk : chunks) {
      ColumnChunk column = new ColumnChunk(chunk.getData_page_offset());
      column.setMeta_data(chunk);
      columns.add(column);
      uncompressed += chunk.getTotal_uncompressed_size();
    }
    RowGroup group = new RowGroup(columns, uncompressed, ofFile.count());
    group.setFile_offset(start);
    group.setTotal_compressed_size(position - start);
    groups.add(group);
    ofFile.addTo(rows);
  }

  /** Ends the layout. */
  SelectedContent content(Path path, FileMetaData metadata) throws IOException {
    add(Segment.ofMemory(ParquetFooter.write(metadata, groups)));
    return new SelectedContent(path, segments, rows.ranges());
  }
}
