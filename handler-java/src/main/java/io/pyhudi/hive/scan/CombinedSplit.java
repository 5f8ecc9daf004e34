package io.pyhudi.hive.scan;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.mapred.FileSplit;

/**
 * Several splits of one location, which one task reads one after the other.
 *
 * <p>Hive finds the table by the path, which is that of the first one.
 */
public final class CombinedSplit extends FileSplit {
  private final List<HudiSplit> parts = new ArrayList<>();

  /** Creates an empty split, which Hadoop fills by {@link #readFields}. */
  public CombinedSplit() {
    super();
  }

  private CombinedSplit(List<HudiSplit> parts, long length, String[] hosts) {
    super(parts.get(0).getPath(), 0, length, hosts);
    this.parts.addAll(parts);
  }

  /**
   * @param parts at least one split
   * @param hosts that have blocks of all parts
   */
  static CombinedSplit of(List<HudiSplit> parts, String... hosts) {
    return new CombinedSplit(parts, parts.stream().mapToLong(HudiSplit::getLength).sum(), hosts);
  }

  public List<HudiSplit> parts() {
    return Collections.unmodifiableList(parts);
  }

  @Override
  public void write(DataOutput out) throws IOException {
    super.write(out);
    out.writeInt(parts.size());
    for (HudiSplit part : parts) {
      part.write(out);
    }
  }

  @Override
  public void readFields(DataInput in) throws IOException {
    super.readFields(in);
    parts.clear();
    for (int left = in.readInt(); left > 0; left--) {
      HudiSplit part = new HudiSplit();
      part.readFields(in);
      parts.add(part);
    }
  }
}
