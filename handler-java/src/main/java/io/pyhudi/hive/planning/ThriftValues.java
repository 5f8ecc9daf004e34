package io.pyhudi.hive.planning;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.thrift.TBase;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.TException;
import org.apache.thrift.TSerializer;

/** Writes values of the protocol into splits. */
final class ThriftValues {
  private ThriftValues() {}

  static void write(DataOutput out, TBase<?, ?> value) throws IOException {
    try {
      byte[] written = new TSerializer().serialize(value);
      out.writeInt(written.length);
      out.write(written);
    } catch (TException e) {
      throw new IOException(e);
    }
  }

  /** Fills a new value with what {@link #write} has written. */
  static <T extends TBase<?, ?>> T read(DataInput in, T value) throws IOException {
    byte[] written = new byte[in.readInt()];
    in.readFully(written);
    try {
      new TDeserializer().deserialize(value, written);
      return value;
    } catch (TException e) {
      throw new IOException(e);
    }
  }
}
