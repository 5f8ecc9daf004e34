package io.pyhudi.connector;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Map;

/** An object with other results of some of its methods, whatever else its interface has. */
public final class Replaced {
  private Replaced() {}

  /**
   * Returns an object whose other calls are those of {@code object}, methods that other versions of
   * the engine add to the interface included.
   *
   * @param results what methods return, by their names
   */
  public static <T> T in(T object, Class<T> type, Map<String, Object> results) {
    InvocationHandler calls =
        (proxy, method, arguments) -> {
          if (results.containsKey(method.getName())) {
            return results.get(method.getName());
          }
          try {
            return method.invoke(object, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        };
    ClassLoader loader = Replaced.class.getClassLoader();
    return type.cast(Proxy.newProxyInstance(loader, new Class<?>[] {type}, calls));
  }
}
