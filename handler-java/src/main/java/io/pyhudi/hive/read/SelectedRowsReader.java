package io.pyhudi.hive.read;

import io.pyhudi.hive.rows.SelectedContent;
import io.pyhudi.hive.rows.SelectedParquet;
import java.io.IOException;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;

/** Reads the selected rows of a file by Hive's readers, one after another. */
final class SelectedRowsReader<V> extends ForwardingReader<V> {
  private final SelectedParquet rows;
  private final FileSplit file;
  private final HiddenRows hidden;
  private final JobConf job;
  private final PlainFiles.Opener<V> opener;
  private SelectedContent content;
  private RecordReader<NullWritable, V> current;
  private int next;

  private SelectedRowsReader(
      SelectedParquet rows,
      FileSplit file,
      HiddenRows hidden,
      JobConf job,
      PlainFiles.Opener<V> opener) {
    this.rows = rows;
    this.file = file;
    this.hidden = hidden;
    this.job = job;
    this.opener = opener;
  }

  /**
   * Opens the first of Hive's readers.
   *
   * @param rows closed with this reader
   * @param file what the split stands for
   * @param hidden rows that are not returned; null for none
   */
  static <V> RecordReader<NullWritable, V> open(
      SelectedParquet rows,
      FileSplit file,
      HiddenRows hidden,
      JobConf job,
      Reporter reporter,
      PlainFiles.Opener<V> opener)
      throws IOException {
    SelectedRowsReader<V> reader = new SelectedRowsReader<>(rows, file, hidden, job, opener);
    boolean isOpen = false;
    try {
      reader.openNext();
      isOpen = true;
    } finally {
      if (!isOpen) {
        rows.close();
      }
    }
    RowCounters.addWholeRowGroups(reporter, rows.groupsWithoutPages());
    return reader;
  }

  private void openNext() throws IOException {
    content = rows.content(next++);
    FileSplit whole = new FileSplit(file.getPath(), 0, content.length(), file.getLocations());
    boolean isOpen = false;
    try {
      RecordReader<NullWritable, V> reader = opener.open(whole, content.serve(job));
      current = hidden == null ? reader : hidden.in(reader, content.rows());
      isOpen = true;
    } finally {
      if (!isOpen) {
        content.withdraw();
      }
    }
  }

  private void closeCurrent() throws IOException {
    content.withdraw();
    current.close();
  }

  @Override
  public boolean next(NullWritable key, V value) throws IOException {
    while (!current.next(key, value)) {
      if (next == rows.contents()) {
        return false;
      }
      closeCurrent();
      openNext();
    }
    return true;
  }

  @Override
  public float getProgress() throws IOException {
    return (next - 1 + current.getProgress()) / rows.contents();
  }

  @Override
  public void close() throws IOException {
    try {
      closeCurrent();
    } finally {
      rows.close();
    }
  }

  @Override
  RecordReader<NullWritable, V> reader() {
    return current;
  }
}
