package io.pyhudi.hive.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.files.CountedFileSystem;
import io.pyhudi.hive.protocol.SelectedRows;
import io.pyhudi.hive.rows.FileRows;
import io.pyhudi.hive.scan.HudiSplit;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.Util;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What cannot be selected is read whole, and each row once; what is selected costs its pages. */
class UnprovedRowsTest {
  private static final int ROWS = 2500;
  private static final String[] COLUMNS = {"id", "word", "deep"};

  @TempDir java.nio.file.Path directory;

  private final Configuration conf = CountedFileSystem.configuration();
  private final JobConf job = HiveReading.job(conf, false, COLUMNS);
  private java.nio.file.Path local;
  private Path path;
  private List<String> all;

  @BeforeEach
  void write() throws Exception {
    local = directory.resolve("rows.parquet");
    path = new Path("file://" + local);
    Files.deleteIfExists(local);
    ParquetFiles.Layout layout =
        new ParquetFiles.Layout(WriterVersion.PARQUET_1_0, CompressionCodecName.GZIP, true, 100);
    ParquetFiles.write(path, conf, layout, ROWS, 1);
    Files.deleteIfExists(directory.resolve(".rows.parquet.crc"));
    all = HiveReading.read(HudiSplit.plain(byLength(1).get(0), length()), job);
  }

  private long length() throws IOException {
    return Files.size(local);
  }

  private List<org.apache.hadoop.mapred.FileSplit> byLength(int parts) throws IOException {
    return HiveReading.byLength(path, length(), (length() + parts - 1) / parts);
  }

  private List<String> read(SelectedRows answer, int parts) throws IOException {
    List<String> read = new ArrayList<>();
    for (HudiSplit split : HiveReading.splits(FileRows.of(answer), byLength(parts))) {
      read.addAll(HiveReading.read(split, job));
    }
    return read;
  }

  /** Returns the rows of the row groups that have one of the rows from 700 to 1,100. */
  private List<String> ofRowGroups() throws IOException {
    List<String> rows = new ArrayList<>();
    int first = 0;
    for (BlockMetaData group : ParquetFiles.groups(path, conf)) {
      int next = first + (int) group.getRowCount();
      if (first < 1100 && next > 700) {
        rows.addAll(all.subList(first, next));
      }
      first = next;
    }
    assertTrue(rows.size() < ROWS, "one row group is all of the file");
    return rows;
  }

  private SelectedRows answer() throws Exception {
    return ParquetFiles.answer(path, conf, new long[] {700}, new long[] {1100});
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 8, 20, 100})
  void aFileWithAnotherFooterIsReadWholeAndOnce(int parts) throws Exception {
    assertTrue(groupRows(0) < ROWS - 1);
    SelectedRows answer = ParquetFiles.answer(path, conf, new long[] {ROWS - 1}, new long[] {ROWS});
    byte[] digest = answer.getFooterDigest();
    digest[7] ^= 1;
    assertEquals(all, read(answer.setFooterDigest(digest), parts));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 8, 20, 100})
  void aFileThatIsOneSplitMayHaveEveryRow(int parts) throws Exception {
    SelectedRows answer = ParquetFiles.answer(path, conf, new long[] {0}, new long[] {ROWS});
    assertEquals(all, read(answer, parts));
  }

  @Test
  void noRowMakesNoSplit() throws Exception {
    SelectedRows answer = ParquetFiles.answer(path, conf, new long[0], new long[0]);
    assertEquals(0, HiveReading.splits(FileRows.of(answer), byLength(3)).size());
  }

  @Test
  void withoutIndexesOfPagesRowGroupsAreReadWhole() throws Exception {
    changeFooter(
        metadata ->
            metadata
                .getRow_groups()
                .forEach(group -> group.getColumns().get(0).unsetOffset_index_offset()));
    assertEquals(ofRowGroups(), read(answer(), 3));
  }

  @Test
  void aWrongIndexOfPagesMakesItsRowGroupBeReadWhole() throws Exception {
    // Columns: id, word, and the first one of the column deep.
    for (int column : new int[] {0, 8, 20}) {
      write();
      changeIndexes(column, index -> index.getPage_locations().get(1).setFirst_row_index(99));
      assertEquals(all, read(mostRows(), 3), "rows of column " + column);
      write();
      changeIndexes(column, index -> index.getPage_locations().remove(1));
      assertEquals(all, read(mostRows(), 3), "pages of column " + column);
    }
  }

  @Test
  void aPageWithOtherRowsThanItsIndexSaysIsNotTakenAsItIs() throws Exception {
    List<String> expected = all.subList(0, (int) groupRows(0));
    changeIndexes(0, index -> index.getPage_locations().get(1).setFirst_row_index(99));
    SelectedRows answer = ParquetFiles.answer(path, conf, new long[] {99}, new long[] {200});
    assertEquals(expected, read(answer, 3));
  }

  private long groupRows(int group) throws IOException {
    return ParquetFiles.groups(path, conf).get(group).getRowCount();
  }

  /** Returns an answer that lacks some rows of each page. */
  private SelectedRows mostRows() throws Exception {
    long[] starts = LongStream.range(0, ROWS / 50).map(range -> 50 * range + 1).toArray();
    return ParquetFiles.answer(
        path, conf, starts, LongStream.of(starts).map(start -> start + 49).toArray());
  }

  @Test
  void otherColumnsAndPagesAreNotFetched() throws Exception {
    JobConf ofTwo = HiveReading.job(conf, false, "id", "l");
    SelectedRows answer = ParquetFiles.answer(path, conf, new long[] {1000}, new long[] {1001});
    HudiSplit split = HiveReading.splits(FileRows.of(answer), byLength(1)).get(0);
    long pages = 0;
    for (BlockMetaData group : ParquetFiles.groups(path, conf)) {
      pages += group.getRowCount() / 100;
    }
    long before = bytesRead();
    assertEquals(1, HiveReading.read(split, ofTwo).size());
    long selected = bytesRead() - before;
    long whole = length();
    assertTrue(selected < whole / 8, selected + " bytes of " + whole + ", " + pages + " pages");
  }

  @SuppressWarnings("deprecation")
  private long bytesRead() throws IOException {
    FileSystem fs = path.getFileSystem(conf);
    return FileSystem.getStatistics("file", fs.getClass()).getBytesRead();
  }

  private void changeIndexes(int column, Consumer<OffsetIndex> change) throws IOException {
    byte[] content = Files.readAllBytes(local);
    changeFooter(
        metadata ->
            metadata
                .getRow_groups()
                .forEach(
                    group -> {
                      org.apache.parquet.format.ColumnChunk chunk = group.getColumns().get(column);
                      int start = (int) chunk.getOffset_index_offset();
                      try {
                        OffsetIndex index =
                            Util.readOffsetIndex(
                                new ByteArrayInputStream(
                                    content, start, chunk.getOffset_index_length()));
                        change.accept(index);
                        ByteArrayOutputStream out = new ByteArrayOutputStream();
                        Util.writeOffsetIndex(index, out);
                        added.add(out.toByteArray());
                        chunk.setOffset_index_offset(addedAt + addedLength);
                        chunk.setOffset_index_length(out.size());
                        addedLength += out.size();
                      } catch (IOException e) {
                        throw new java.io.UncheckedIOException(e);
                      }
                    }));
  }

  private final List<byte[]> added = new ArrayList<>();
  private long addedAt;
  private int addedLength;

  /** Writes the file with another footer, behind bytes that the change adds. */
  private void changeFooter(Consumer<FileMetaData> change) throws IOException {
    byte[] content = Files.readAllBytes(local);
    int length =
        ByteBuffer.wrap(content, content.length - 8, 4).order(ByteOrder.LITTLE_ENDIAN).getInt();
    int start = content.length - 8 - length;
    added.clear();
    addedAt = start;
    addedLength = 0;
    FileMetaData metadata = Util.readFileMetaData(new ByteArrayInputStream(content, start, length));
    change.accept(metadata);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(Arrays.copyOf(content, start));
    for (byte[] each : added) {
      out.write(each);
    }
    ByteArrayOutputStream footer = new ByteArrayOutputStream();
    Util.writeFileMetaData(metadata, footer);
    out.write(footer.toByteArray());
    out.write(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(footer.size()).array());
    out.write(new byte[] {'P', 'A', 'R', '1'});
    Files.write(local, out.toByteArray());
  }
}
