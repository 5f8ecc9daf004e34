package io.pyhudi.spark.read;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.hudi.BaseHoodieTableFileIndex;
import org.apache.hudi.BaseHoodieTableFileIndex.PartitionPath;
import org.apache.hudi.HoodieFileIndex;

/** The values that Hudi's index reads from a partition's path; it keeps this to itself. */
final class PartitionPaths {
  private static final String METHOD = "convertToPartitionPath";

  private PartitionPaths() {}

  static PartitionPath of(HoodieFileIndex index, String path) {
    try {
      Method method = BaseHoodieTableFileIndex.class.getDeclaredMethod(METHOD, String.class);
      method.setAccessible(true);
      return (PartitionPath) method.invoke(index, path);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(path + ": its values cannot be read", e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("Hudi's file index has no " + METHOD, e);
    }
  }
}
