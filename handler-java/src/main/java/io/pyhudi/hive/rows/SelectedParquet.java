package io.pyhudi.hive.rows;

import io.pyhudi.hive.files.DataFile;
import io.pyhudi.hive.files.ServedFile;
import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.compression.CompressionCodecFactory;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.Util;
import org.apache.parquet.hadoop.CodecFactory;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.schema.MessageType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The selected rows of a Parquet file, as files that a reader finds in its place.
 *
 * <p>Pages of different columns start at different rows, and Hive's readers expect columns that
 * agree. So a reader gets a Parquet file of its own, in memory: with the selected rows of the
 * columns that it reads and no others. Pages of which all rows are selected are in it as they are,
 * and from the others the other rows are cut out. Any reader reads it, with all settings, and rows
 * by rows or in batches, as it would read the file.
 *
 * <p>What cannot be cut is read whole: row groups without an index of their pages, and those whose
 * index or pages contradict themselves. Such rows do no harm, as Hive filters all rows.
 */
public final class SelectedParquet implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(SelectedParquet.class);

  /** The row groups of one content have about so many bytes together, or there is only one. */
  private static final long CONTENT_BYTES = 32 << 20;

  private static final int LOCAL_GAP = 1 << 14;

  /** A request takes longer than the transfer of so many bytes. */
  private static final int REMOTE_GAP = 1 << 18;

  private final Path path;
  private final FSDataInputStream file;
  private final FileMetaData metadata;
  private final RowRanges ranges;
  private final List<ColumnDescriptor> columns;
  private final CodecFactory codecs;
  private final List<List<Group>> contents = new ArrayList<>();
  private int groupsWithoutPages;

  private SelectedParquet(
      Path path,
      FSDataInputStream file,
      FileMetaData metadata,
      RowRanges ranges,
      List<ColumnDescriptor> columns,
      CodecFactory codecs) {
    this.path = path;
    this.file = file;
    this.metadata = metadata;
    this.ranges = ranges;
    this.columns = columns;
    this.codecs = codecs;
  }

  /**
   * Opens a file. Returns null if its rows cannot be selected in this way: it has another footer
   * than the one whose rows were selected, is encrypted, or has none of the columns.
   *
   * @param length the file's length in bytes
   */
  public static SelectedParquet open(
      Path path, long length, RowSelection rows, ColumnChoice choice, JobConf job)
      throws IOException {
    return open(
        path,
        length,
        file -> metadata(path, file, length, rows.footerDigest()),
        rows.ranges(),
        choice,
        job);
  }

  /**
   * Opens a file whose rows were selected by its content. Returns null if they cannot be selected
   * in this way.
   *
   * @param length the file's length in bytes
   */
  public static SelectedParquet open(
      Path path, long length, RowRanges rows, ColumnChoice choice, JobConf job) throws IOException {
    return open(path, length, file -> ParquetFooter.read(file, length), rows, choice, job);
  }

  private interface MetadataReader {
    FileMetaData read(FSDataInputStream file) throws IOException;
  }

  private static SelectedParquet open(
      Path path,
      long length,
      MetadataReader metadata,
      RowRanges rows,
      ColumnChoice choice,
      JobConf job)
      throws IOException {
    if (!ServedFile.isPossible(path, job)) {
      return null;
    }
    FSDataInputStream file = DataFile.open(path, length, job);
    SelectedParquet opened = null;
    try {
      opened = open(path, file, metadata.read(file), rows, choice, job);
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("{}: its rows cannot be selected, the split is read whole", path, e);
    } finally {
      if (opened == null) {
        file.close();
      }
    }
    return opened;
  }

  /** Returns the metadata of a file, or null if it has others than those with this digest. */
  private static FileMetaData metadata(
      Path path, FSDataInputStream file, long length, byte[] digest) throws IOException {
    FileMetaData metadata = ParquetFooter.read(file, length, digest);
    if (metadata == null) {
      LOG.warn(
          "{}: rows were selected in a file of {} bytes with another footer, the split is read"
              + " whole",
          path,
          length);
    }
    return metadata;
  }

  private static SelectedParquet open(
      Path path,
      FSDataInputStream file,
      FileMetaData metadata,
      RowRanges rows,
      ColumnChoice choice,
      JobConf job)
      throws IOException {
    if (metadata == null) {
      return null;
    }
    long last = metadata.getRow_groups().stream().mapToLong(RowGroup::getNum_rows).sum();
    if (metadata.isSetEncryption_algorithm() || rows.end() > last) {
      return null;
    }
    List<ColumnDescriptor> every = ParquetFooter.schema(metadata).getColumns();
    return new SelectedParquet(path, file, metadata, rows, every, new CodecFactory(job, 0))
        .only(choice);
  }

  /**
   * Returns the same rows with fewer columns, of the same open file; null if it has none of them,
   * or a row group that lacks one.
   */
  public SelectedParquet only(ColumnChoice choice) throws IOException {
    MessageType schema = ParquetFooter.schema(metadata);
    List<ColumnDescriptor> chosen = new ArrayList<>();
    for (ColumnDescriptor column : columns) {
      if (choice.reads(schema, column.getPath())) {
        chosen.add(column);
      }
    }
    SelectedParquet part = new SelectedParquet(path, file, metadata, ranges, chosen, codecs);
    return !chosen.isEmpty() && part.findGroups() ? part : null;
  }

  /** Returns the number of files that a reader has to read instead of this one. */
  public int contents() {
    return contents.size();
  }

  /** Returns whether pages can be selected in each row group of which not all rows are selected. */
  public boolean hasPages() {
    return contents.stream()
        .flatMap(List::stream)
        .allMatch(group -> group.isWhole() || group.hasIndexes());
  }

  /** Returns how many row groups had to be read whole although rows of them were excluded. */
  public int groupsWithoutPages() {
    return groupsWithoutPages;
  }

  @Override
  public void close() throws IOException {
    codecs.release();
    file.close();
  }

  /** A row group of which some rows are selected. */
  private static final class Group {
    private final long first;
    private final long rows;
    private final RowRanges selected;
    private final Map<ColumnDescriptor, ColumnChunk> chunks;

    /**
     * @param first the first row in the file
     * @param selected the rows to read, counted from the first one
     */
    Group(long first, long rows, RowRanges selected, Map<ColumnDescriptor, ColumnChunk> chunks) {
      this.first = first;
      this.rows = rows;
      this.selected = selected;
      this.chunks = chunks;
    }

    boolean isWhole() {
      return selected.count() == rows;
    }

    boolean hasIndexes() {
      return chunks.values().stream().allMatch(ColumnChunk::isSetOffset_index_offset);
    }

    long bytes() {
      long all =
          chunks.values().stream()
              .mapToLong(chunk -> chunk.getMeta_data().getTotal_compressed_size())
              .sum();
      return Math.round((double) all * selected.count() / rows);
    }
  }

  /** Returns false if a row group lacks a column, or keeps it in another file or encrypted. */
  private boolean findGroups() {
    long first = 0;
    long bytes = 0;
    for (RowGroup group : metadata.getRow_groups()) {
      RowRanges selected = ranges.within(first, first + group.getNum_rows());
      long start = first;
      first += group.getNum_rows();
      if (selected.isEmpty()) {
        continue;
      }
      Map<List<String>, ColumnChunk> byPath = new HashMap<>();
      for (ColumnChunk chunk : group.getColumns()) {
        if (chunk.isSetMeta_data() && !chunk.isSetFile_path() && !chunk.isSetCrypto_metadata()) {
          byPath.put(chunk.getMeta_data().getPath_in_schema(), chunk);
        }
      }
      Map<ColumnDescriptor, ColumnChunk> chunks = new LinkedHashMap<>();
      for (ColumnDescriptor column : columns) {
        ColumnChunk chunk = byPath.get(Arrays.asList(column.getPath()));
        if (chunk == null) {
          return false;
        }
        chunks.put(column, chunk);
      }
      Group found = new Group(start, group.getNum_rows(), selected, chunks);
      if (contents.isEmpty() || bytes + found.bytes() > CONTENT_BYTES) {
        contents.add(new ArrayList<>());
        bytes = 0;
      }
      contents.get(contents.size() - 1).add(found);
      bytes += found.bytes();
    }
    return !contents.isEmpty();
  }

  /** Fetches the pages for one of the files that a reader has to read. */
  public SelectedContent content(int number) throws IOException {
    ContentLayout layout = new ContentLayout();
    for (Group group : contents.get(number)) {
      List<SelectedPages> pages = group.isWhole() ? Collections.emptyList() : pages(group);
      if (pages.isEmpty()) {
        List<ColumnMetaData> chunks = new ArrayList<>();
        group.chunks.values().forEach(chunk -> chunks.add(chunk.getMeta_data()));
        layout.addWhole(file, chunks, RowRanges.between(group.first, group.first + group.rows));
      } else {
        add(group, pages, layout);
      }
    }
    return layout.content(path, metadata);
  }

  /**
   * Returns the pages of the columns with the selected rows; none if the row group is read whole.
   */
  private List<SelectedPages> pages(Group group) {
    try {
      if (group.hasIndexes()) {
        return fetchPages(group);
      }
    } catch (IOException | RuntimeException | LinkageError e) {
      LOG.warn("{}: pages of a row group cannot be selected, it is read whole", path, e);
    }
    groupsWithoutPages++;
    return Collections.emptyList();
  }

  private List<SelectedPages> fetchPages(Group group) throws IOException {
    Map<ColumnDescriptor, ByteRange> indexes = new HashMap<>();
    group.chunks.forEach(
        (column, chunk) ->
            indexes.put(
                column,
                new ByteRange(chunk.getOffset_index_offset(), chunk.getOffset_index_length())));
    Map<ByteRange, ByteBuffer> fetched = fetch(new ArrayList<>(indexes.values()));
    List<SelectedPages> selected = new ArrayList<>();
    List<ByteRange> places = new ArrayList<>();
    for (Map.Entry<ColumnDescriptor, ColumnChunk> each : group.chunks.entrySet()) {
      ByteBuffer bytes = fetched.get(indexes.get(each.getKey()));
      OffsetIndex index =
          Util.readOffsetIndex(
              new ByteArrayInputStream(
                  bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining()));
      SelectedPages pages =
          new SelectedPages(
              each.getKey(), each.getValue().getMeta_data(), index, group.rows, group.selected);
      selected.add(pages);
      places.addAll(pages.places());
    }
    Map<ByteRange, ByteBuffer> contentOfPages = fetch(places);
    int next = 0;
    for (Map.Entry<ColumnDescriptor, ColumnChunk> each : group.chunks.entrySet()) {
      selected.get(next++).take(contentOfPages, cutter(each.getKey(), each.getValue()));
    }
    return selected;
  }

  private PageCutter cutter(ColumnDescriptor column, ColumnChunk chunk) {
    CompressionCodecFactory factory = codecs;
    return new PageCutter(
        column,
        factory.getDecompressor(CompressionCodecName.fromParquet(chunk.getMeta_data().getCodec())));
  }

  private void add(Group group, List<SelectedPages> pages, ContentLayout layout)
      throws IOException {
    List<ByteRange> places = new ArrayList<>();
    pages.stream().map(SelectedPages::dictionary).filter(Objects::nonNull).forEach(places::add);
    Map<ByteRange, ByteBuffer> dictionaries = fetch(places);
    long start = layout.position();
    List<ColumnMetaData> chunks = new ArrayList<>();
    for (SelectedPages each : pages) {
      chunks.add(each.addTo(layout, dictionaries.get(each.dictionary())));
    }
    layout.addGroup(start, chunks, ranges.intersect(group.first, group.first + group.rows));
  }

  private Map<ByteRange, ByteBuffer> fetch(List<ByteRange> places) throws IOException {
    return ByteRange.fetch(file, places, DataFile.isRemote(path) ? REMOTE_GAP : LOCAL_GAP);
  }
}
