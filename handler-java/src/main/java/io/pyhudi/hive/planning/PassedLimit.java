package io.pyhudi.hive.planning;

import io.pyhudi.hive.protocol.FirstRows;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.mapred.JobConf;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.TException;
import org.apache.thrift.TSerializer;

/** The rows that a query needs of a scan, passed as a property where a scan has no job's plan. */
public final class PassedLimit {
  private static final String PROPERTY = "pyhudi.first.rows";

  private PassedLimit() {}

  /** Adds the rows to the properties of a scan. */
  static void put(Map<String, String> properties, List<FirstRows> first) throws TException {
    List<String> written = new ArrayList<>();
    for (FirstRows each : first) {
      written.add(Base64.getEncoder().encodeToString(new TSerializer().serialize(each)));
    }
    properties.put(PROPERTY, String.join(",", written));
  }

  /** Moves the rows, if there are some, from the properties of a scan to its job. */
  public static void move(Map<String, String> properties, JobConf job) {
    String written = properties.remove(PROPERTY);
    if (written != null) {
      job.set(PROPERTY, written);
    }
  }

  /** Returns the rows that were passed to a job; none if none were. */
  static List<FirstRows> of(JobConf job) {
    String written = job.get(PROPERTY);
    if (written == null) {
      return Collections.emptyList();
    }
    List<FirstRows> first = new ArrayList<>();
    try {
      for (String each : written.split(",")) {
        FirstRows read = new FirstRows();
        new TDeserializer().deserialize(read, Base64.getDecoder().decode(each));
        first.add(read);
      }
    } catch (TException e) {
      throw new IllegalStateException(PROPERTY + " is none of this handler: " + written, e);
    }
    return first;
  }
}
