import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, except that it sets permissions by itself.
 *
 * <p>Without its native library Hadoop starts a process (chmod) for each file and directory that it
 * creates, which took a quarter of the time of tests that write tables.
 */
public final class QuickLocalFileSystem extends LocalFileSystem {
  /** Called by Hadoop. */
  public QuickLocalFileSystem() {
    super(new Raw());
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      if (permission.getStickyBit()) {
        super.setPermission(path, permission);
        return;
      }
      String letters =
          permission.getUserAction().SYMBOL
              + permission.getGroupAction().SYMBOL
              + permission.getOtherAction().SYMBOL;
      Files.setPosixFilePermissions(
          pathToFile(path).toPath(), PosixFilePermissions.fromString(letters));
    }
  }

  /** The same for {@link org.apache.hadoop.fs.FileContext}. */
  public static final class Context extends ChecksumFs {
    /** Called by Hadoop. */
    public Context(URI uri, Configuration configuration) throws IOException, URISyntaxException {
      super(new RawContext(uri, configuration));
    }
  }

  private static final class RawContext extends DelegateToFileSystem {
    RawContext(URI uri, Configuration configuration) throws IOException, URISyntaxException {
      super(uri, new Raw(), configuration, uri.getScheme(), false);
    }

    @Override
    public int getUriDefaultPort() {
      return -1;
    }

    @Override
    public boolean isValidName(String source) {
      return true;
    }
  }
}
