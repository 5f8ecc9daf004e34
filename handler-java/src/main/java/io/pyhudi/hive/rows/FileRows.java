package io.pyhudi.hive.rows;

import io.pyhudi.hive.protocol.SelectedRows;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.mapred.FileSplit;

/** The rows of one base file that can match, by the service's answer. */
public final class FileRows {
  private final long fileSize;
  private final byte[] footerDigest;
  private final RowRanges ranges;

  /** The first row of each row group, and the number of all rows. */
  private final long[] firstRows;

  private final long[] offsets;
  private final long[] bytes;

  private FileRows(
      long fileSize,
      byte[] footerDigest,
      RowRanges ranges,
      long[] firstRows,
      long[] offsets,
      long[] bytes) {
    this.fileSize = fileSize;
    this.footerDigest = footerDigest;
    this.ranges = ranges;
    this.firstRows = firstRows;
    this.offsets = offsets;
    this.bytes = bytes;
  }

  /**
   * @throws IllegalArgumentException if the answer contradicts itself
   */
  public static FileRows of(SelectedRows answer) {
    long[] rows = array(answer.getRowGroupRows());
    long[] offsets = array(answer.getRowGroupOffsets());
    long[] bytes = array(answer.getRowGroupBytes());
    RowRanges ranges = RowRanges.of(array(answer.getRangeStarts()), array(answer.getRangeEnds()));
    long[] firstRows = new long[rows.length + 1];
    boolean isValid = rows.length == offsets.length && rows.length == bytes.length;
    for (int i = 0; isValid && i < rows.length; i++) {
      isValid =
          rows[i] >= 0
              && bytes[i] >= 0
              && offsets[i] < answer.getFileSize()
              && (i == 0 ? offsets[i] >= 0 : offsets[i] > offsets[i - 1]);
      firstRows[i + 1] = firstRows[i] + rows[i];
    }
    if (!isValid || ranges.end() > firstRows[rows.length]) {
      throw new IllegalArgumentException("the rows of " + answer + " are not those of a file");
    }
    return new FileRows(
        answer.getFileSize(), answer.getFooterDigest(), ranges, firstRows, offsets, bytes);
  }

  private static long[] array(List<Long> values) {
    return values.stream().mapToLong(Long::longValue).toArray();
  }

  /** Returns the size of the file that the answer is about, bytes. */
  public long fileSize() {
    return fileSize;
  }

  /** Returns the number of rows in the file. */
  public long rows() {
    return firstRows[offsets.length];
  }

  /** Returns the number of rows that can match. */
  public long selected() {
    return ranges.count();
  }

  /** Returns the size of the row groups of which no row can match, bytes. */
  public long skippedBytes() {
    long skipped = 0;
    for (int group = 0; group < offsets.length; group++) {
      skipped += isLive(group) ? 0 : bytes[group];
    }
    return skipped;
  }

  private boolean isLive(int group) {
    return !ranges.intersect(firstRows[group], firstRows[group + 1]).isEmpty();
  }

  /** A split of the file by its content. */
  public static final class Part {
    private final FileSplit file;
    private final long weight;
    private final RowSelection rows;

    private Part(FileSplit file, long weight, RowSelection rows) {
      this.file = file;
      this.weight = weight;
      this.rows = rows;
    }

    /** Returns where Hive finds the row groups, and the hosts of them. */
    public FileSplit file() {
      return file;
    }

    /** Returns about how many bytes are read, with all columns. */
    public long weight() {
      return weight;
    }

    public RowSelection rows() {
      return rows;
    }
  }

  /**
   * Splits the file by its content: where it would be split by its length, and without splits that
   * have no row to read. The bytes of a split start with its first row group that is read, the
   * bytes of the first one with the file, and they end where those of the next one start. So each
   * row group begins in one split also if the file turns out to have another footer.
   *
   * @param byLength the splits of the file by its length, in their order, which cover it
   */
  public List<Part> parts(List<FileSplit> byLength) {
    List<int[]> groups = new ArrayList<>();
    List<FileSplit> places = new ArrayList<>();
    int next = 0;
    for (FileSplit split : byLength) {
      int first = -1;
      int behind = next;
      while (behind < offsets.length
          && (offsets[behind] < split.getStart() + split.getLength()
              || split == byLength.get(byLength.size() - 1))) {
        if (first < 0 && isLive(behind)) {
          first = behind;
        }
        behind++;
      }
      if (first >= 0) {
        groups.add(new int[] {first, behind});
        places.add(split);
      }
      next = behind;
    }
    List<Part> parts = new ArrayList<>();
    for (int i = 0; i < groups.size(); i++) {
      long start = i == 0 ? 0 : offsets[groups.get(i)[0]];
      long end = i + 1 == groups.size() ? fileSize : offsets[groups.get(i + 1)[0]];
      parts.add(part(places.get(i), start, end, groups.get(i)[0], groups.get(i)[1]));
    }
    return parts;
  }

  /** Returns the selected rows for a split that is the whole file. */
  public RowSelection whole() {
    return new RowSelection(footerDigest, ranges, fileSize);
  }

  private Part part(FileSplit place, long start, long end, int firstGroup, int behindGroup) {
    long weight = 0;
    for (int group = firstGroup; group < behindGroup; group++) {
      long rows = firstRows[group + 1] - firstRows[group];
      long live = ranges.intersect(firstRows[group], firstRows[group + 1]).count();
      weight += rows == 0 ? 0 : Math.round((double) bytes[group] * live / rows);
    }
    RowRanges own = ranges.intersect(firstRows[firstGroup], firstRows[behindGroup]);
    String[] hosts = hosts(place);
    return new Part(
        new FileSplit(place.getPath(), start, end - start, hosts),
        Math.max(1, weight),
        new RowSelection(footerDigest, own, end - start));
  }

  private static String[] hosts(FileSplit split) {
    try {
      return split.getLocations();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public String toString() {
    return ranges + " of " + rows() + " rows in row groups at " + Arrays.toString(offsets);
  }
}
