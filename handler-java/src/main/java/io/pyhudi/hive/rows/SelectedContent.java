package io.pyhudi.hive.rows;

import io.pyhudi.hive.files.PositionedStream;
import io.pyhudi.hive.files.ServedFile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** A Parquet file of the selected rows of another, at the path of that one. */
public final class SelectedContent extends ServedFile {
  private final List<Segment> segments = new ArrayList<>();

  /** Where each segment starts, and the length of all. */
  private final long[] starts;

  private final RowRanges rows;

  SelectedContent(Path path, List<Segment> segments, RowRanges rows) {
    super(path);
    this.rows = rows;
    segments.stream().filter(segment -> segment.length() > 0).forEach(this.segments::add);
    starts = new long[this.segments.size() + 1];
    for (int i = 0; i < this.segments.size(); i++) {
      starts[i + 1] = starts[i] + this.segments.get(i).length();
    }
  }

  /** Returns which rows of the file these are, in their order. */
  public RowRanges rows() {
    return rows;
  }

  @Override
  public long length() {
    return starts[segments.size()];
  }

  @Override
  protected boolean isTheFileItself() {
    return false;
  }

  @Override
  protected FSInputStream stream(FileSystem fs) {
    return new Stream();
  }

  private final class Stream extends PositionedStream {
    Stream() {
      super(SelectedContent.this.length(), "the selected rows of " + path());
    }

    @Override
    protected int readAt(long position, byte[] buffer, int offset, int count) throws IOException {
      int found = Arrays.binarySearch(starts, position);
      int segment = found < 0 ? -found - 2 : found;
      return segments.get(segment).read(position - starts[segment], buffer, offset, count);
    }
  }
}
