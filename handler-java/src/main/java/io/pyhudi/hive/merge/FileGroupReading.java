package io.pyhudi.hive.merge;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.table.read.HoodieFileGroupReader;

/**
 * Builds Hudi's reader of a file slice. Its builder is another class since Hudi 1.2.1, some of its
 * methods have other names, and one handler serves both: so it is called by reflection.
 */
final class FileGroupReading {
  private static final List<String> START = Arrays.asList("builder", "newBuilder");

  private Object builder;

  private FileGroupReading(Object builder) {
    this.builder = builder;
  }

  /** Starts with the slice's files. */
  static FileGroupReading of(FileSlice slice) throws IOException {
    return new FileGroupReading(call(HoodieFileGroupReader.class, null, START))
        .with("BaseFileOption", slice.getBaseFile())
        .with("LogFiles", slice.getLogFiles())
        .with("PartitionPath", slice.getPartitionPath());
  }

  /** Sets what Hudi 1.2.0 calls {@code with} and this name, later versions {@code withNameOpt}. */
  FileGroupReading with(String name, Object value) throws IOException {
    List<String> names = Arrays.asList("with" + name, "with" + name + "Opt");
    builder = call(builder.getClass(), builder, names, value);
    return this;
  }

  <T> HoodieFileGroupReader<T> build() throws IOException {
    @SuppressWarnings("unchecked")
    HoodieFileGroupReader<T> reader =
        (HoodieFileGroupReader<T>) call(builder.getClass(), builder, Arrays.asList("build"));
    return reader;
  }

  private static Object call(Class<?> type, Object target, List<String> names, Object... values)
      throws IOException {
    for (Method method : type.getMethods()) {
      if (names.contains(method.getName()) && method.getParameterCount() == values.length) {
        try {
          return method.invoke(target, values);
        } catch (IllegalAccessException e) {
          throw new IOException(e);
        } catch (InvocationTargetException e) {
          throw new IOException("Hudi's " + method + " failed", e.getCause());
        }
      }
    }
    throw new IOException(
        "This version of Hudi has none of " + names + " in " + type.getName() + "; use Hudi 1.2");
  }
}
