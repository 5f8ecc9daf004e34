import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Runs Hive 3.1, which requires JDK 8, on JDK 17: {@code java Launcher.java CLASSPATH MAIN ARGS}.
 *
 * <p>It solves two problems. Hive casts its class loader to URLClassLoader, so this launcher provides
 * one. Hive also serializes plans by private fields of ArrayList's sublists, whose names have
 * changed.
 */
public final class Launcher {
  private static final String SUBLISTS =
      "org.apache.hadoop.hive.ql.exec.SerializationUtilities$ArrayListSubListSerializer";
  private static final Map<String, String> SUBLISTS_FIELDS =
      Map.of("parent", "root", "parentOffset", "offset");

  private Launcher() {}

  public static void main(String[] arguments) throws Throwable {
    ClassLoader hive = new HiveLoader(urls(arguments[0]));
    Thread.currentThread().setContextClassLoader(hive);
    String[] rest = Arrays.copyOfRange(arguments, 2, arguments.length);
    try {
      hive.loadClass(arguments[1]).getMethod("main", String[].class).invoke(null, (Object) rest);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /** Returns a class path's directories and jars; "directory/*" is every jar in it. */
  private static URL[] urls(String classPath) throws MalformedURLException {
    List<URL> urls = new ArrayList<>();
    for (String entry : classPath.split(File.pathSeparator)) {
      File file = new File(entry);
      File[] files = {file};
      if (file.getName().equals("*")) {
        files = file.getParentFile().listFiles((directory, name) -> name.endsWith(".jar"));
        Arrays.sort(files);
      }
      for (File each : files) {
        urls.add(each.toURI().toURL());
      }
    }
    return urls.toArray(new URL[0]);
  }

  private static final class HiveLoader extends URLClassLoader {
    HiveLoader(URL[] urls) {
      super(urls, ClassLoader.getPlatformClassLoader());
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (!name.equals(SUBLISTS)) {
        return super.findClass(name);
      }
      try (InputStream stored = getResourceAsStream(name.replace('.', '/') + ".class")) {
        byte[] code = withTexts(stored, SUBLISTS_FIELDS);
        return defineClass(name, code, 0, code.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  /** Replaces texts in the constant pool of a class file (JVM specification, 4.4). */
  private static byte[] withTexts(InputStream stored, Map<String, String> replacements)
      throws IOException {
    DataInputStream in = new DataInputStream(stored);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.write(in.readNBytes(8));
    int constants = in.readUnsignedShort();
    out.writeShort(constants);
    for (int i = 1; i < constants; i++) {
      int tag = in.readUnsignedByte();
      out.writeByte(tag);
      switch (tag) {
        case 1: // Utf8
          String text = in.readUTF();
          out.writeUTF(replacements.getOrDefault(text, text));
          break;
        case 5: // Long
        case 6: // Double
          out.write(in.readNBytes(8));
          i++; // It counts for two.
          break;
        case 7: // Class
        case 8: // String
        case 16: // MethodType
          out.write(in.readNBytes(2));
          break;
        case 15: // MethodHandle
          out.write(in.readNBytes(3));
          break;
        default: // Numbers of 4 bytes, and pairs of constants.
          out.write(in.readNBytes(4));
      }
    }
    in.transferTo(out);
    return bytes.toByteArray();
  }
}
