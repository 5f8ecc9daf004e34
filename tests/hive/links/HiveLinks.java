import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Resolves what the storage handler's classes name of Hive, Hadoop, Hudi and Parquet in other jars,
 * as a JVM does (JVM specification, 5.4.3): {@code HiveLinks HANDLER.jar JARS...}. It prints lines
 * of two fields:
 *
 * <ul>
 *   <li>{@code broken}: what does not resolve, or is final or abstract and must not be;
 *   <li>{@code overrides}: a method of the handler that overrides one of Hive;
 *   <li>{@code offers}: a method of Hive that a class of the handler inherits and could override;
 *       classes that are not abstract.
 * </ul>
 */
public final class HiveLinks {
  private static final String OURS = "io/pyhudi/hive/";
  private static final List<String> PACKAGES =
      Arrays.asList(
          "org/apache/hadoop/", "org/apache/hive/", "org/apache/hudi/", "org/apache/parquet/");
  private static final int CLASS = 7;
  private static final int FIELD = 9;
  private static final int METHOD = 10;
  private static final int INTERFACE_METHOD = 11;

  private final List<JarFile> jars = new ArrayList<>();
  private final Map<String, Type> types = new HashMap<>();
  private final Set<String> lines = new TreeSet<>();

  public static void main(String[] arguments) throws IOException {
    HiveLinks links = new HiveLinks();
    for (String jar : arguments) {
      links.jars.add(new JarFile(jar));
    }
    links.check();
    links.lines.forEach(System.out::println);
  }

  private void check() throws IOException {
    for (Enumeration<JarEntry> entries = jars.get(0).entries(); entries.hasMoreElements(); ) {
      String entry = entries.nextElement().getName();
      if (entry.startsWith(OURS) && entry.endsWith(".class")) {
        Type type = type(entry.substring(0, entry.length() - ".class".length()));
        checkReferences(type);
        checkMethods(type);
      }
    }
  }

  private void checkReferences(Type ours) {
    ClassReader reader = ours.reader;
    char[] buffer = new char[reader.getMaxStringLength()];
    for (int i = 1; i < reader.getItemCount(); i++) {
      int item = reader.getItem(i);
      int tag = item == 0 ? 0 : reader.readByte(item - 1);
      if (tag == CLASS) {
        checkReference(ours, reader.readUTF8(item, buffer), "", tag, buffer);
      } else if (tag == FIELD || tag == METHOD || tag == INTERFACE_METHOD) {
        int nameAndType = reader.getItem(reader.readUnsignedShort(item + 2));
        String name = reader.readUTF8(nameAndType, buffer);
        String descriptor = reader.readUTF8(nameAndType + 2, buffer);
        String member = tag == FIELD ? name + ":" + descriptor : name + descriptor;
        checkReference(ours, reader.readClass(item, buffer), member, tag, buffer);
      }
    }
  }

  private void checkReference(Type ours, String named, String member, int tag, char[] buffer) {
    String owner = named.replaceFirst("^\\[+L(.*);$", "$1");
    if (PACKAGES.stream().noneMatch(owner::startsWith)) {
      return;
    }
    Type type = type(owner);
    boolean isFound = type != null && (tag == CLASS || type.find(member) != null);
    boolean isKind = tag < METHOD || isFound && type.isInterface() == (tag == INTERFACE_METHOD);
    if (!isFound || !isKind) {
      lines.add("broken\t" + ours.name + " names " + owner + " " + member);
    }
  }

  private void checkMethods(Type ours) {
    Set<Type> theirs = new LinkedHashSet<>(ours.all());
    theirs.removeIf(type -> PACKAGES.stream().noneMatch(type.name::startsWith));
    for (Type their : theirs) {
      their.members.forEach(
          (member, access) -> {
            if ((access & (Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE)) == 0
                && member.contains("(")
                && !member.startsWith("<")) {
              checkMethod(ours, their, member, access);
            }
          });
    }
  }

  private void checkMethod(Type ours, Type their, String member, int access) {
    boolean isFinal = (access & Opcodes.ACC_FINAL) != 0;
    if (ours.members.containsKey(member)) {
      lines.add((isFinal ? "broken" : "overrides") + "\t" + ours.name + " " + member);
    } else if (!isFinal
        && !ours.isAbstract()
        && ours.all().stream().noneMatch(type -> overrides(type, member))) {
      lines.add("offers\t" + their.name + " " + member);
    }
    Integer found = ours.find(member);
    if (!ours.isAbstract() && (found & Opcodes.ACC_ABSTRACT) != 0) {
      lines.add("broken\t" + ours.name + " lacks " + member);
    }
  }

  private static boolean overrides(Type type, String member) {
    return type.name.startsWith(OURS) && type.members.containsKey(member);
  }

  /** Returns a class of the jars or of the JDK; null if there is none. */
  private Type type(String name) {
    if (!types.containsKey(name)) {
      types.put(name, null);
      try (InputStream stored = open(name + ".class")) {
        types.put(name, stored == null ? null : new Type(new ClassReader(stored)));
      } catch (IOException e) {
        throw new IllegalStateException(name, e);
      }
    }
    return types.get(name);
  }

  private InputStream open(String file) throws IOException {
    for (JarFile jar : jars) {
      if (jar.getJarEntry(file) != null) {
        return jar.getInputStream(jar.getJarEntry(file));
      }
    }
    return file.startsWith("java") ? ClassLoader.getSystemResourceAsStream(file) : null;
  }

  /** A class with its members: name and descriptor, and the flags of their access. */
  private final class Type extends ClassVisitor {
    private final ClassReader reader;
    private final String name;
    private final Map<String, Integer> members = new HashMap<>();

    Type(ClassReader reader) {
      super(Opcodes.ASM9);
      this.reader = reader;
      this.name = reader.getClassName();
      reader.accept(this, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG);
    }

    @Override
    public FieldVisitor visitField(
        int access, String field, String descriptor, String signature, Object value) {
      members.put(field + ":" + descriptor, access);
      return null;
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String method, String descriptor, String signature, String[] exceptions) {
      members.put(method + descriptor, access);
      return null;
    }

    boolean isInterface() {
      return (reader.getAccess() & Opcodes.ACC_INTERFACE) != 0;
    }

    boolean isAbstract() {
      return (reader.getAccess() & Opcodes.ACC_ABSTRACT) != 0;
    }

    /** Returns this class, its superclasses, then all interfaces, the most specific first. */
    List<Type> all() {
      Set<Type> found = new LinkedHashSet<>();
      Set<Type> interfaces = new LinkedHashSet<>();
      for (Type type = this; type != null; type = type.superclass()) {
        found.add(type);
        type.addInterfaces(interfaces);
      }
      found.addAll(interfaces);
      return new ArrayList<>(found);
    }

    private Type superclass() {
      return reader.getSuperName() == null ? null : known(reader.getSuperName());
    }

    private void addInterfaces(Set<Type> interfaces) {
      for (String each : reader.getInterfaces()) {
        Type type = known(each);
        if (type != null) {
          interfaces.add(type);
          type.addInterfaces(interfaces);
        }
      }
    }

    private Type known(String supertype) {
      Type type = type(supertype);
      if (type == null) {
        lines.add("broken\t" + name + " extends " + supertype);
      }
      return type;
    }

    /** Returns the flags of the member that a JVM selects; null if there is none. */
    Integer find(String member) {
      for (Type type : all()) {
        if (type.members.containsKey(member)) {
          return type.members.get(member);
        }
      }
      return null;
    }
  }
}
