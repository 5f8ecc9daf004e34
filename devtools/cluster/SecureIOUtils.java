package org.apache.hadoop.io;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * In the place of Hadoop's class of this name in NodeManagers: opens intermediate files of a job
 * without a look at who owns them.
 *
 * <p>With Kerberos Hadoop's compares the owner with the job's user, by its native library. Maven
 * has none, and without {@code LinuxContainerExecutor} one user owns all files.
 */
public class SecureIOUtils {
  /** A file that was to be created exists. */
  public static class AlreadyExistsException extends IOException {
    private static final long serialVersionUID = 1L;

    public AlreadyExistsException(String message) {
      super(message);
    }
  }

  public static RandomAccessFile openForRandomRead(
      File file, String mode, String owner, String group) throws IOException {
    return new RandomAccessFile(file, mode);
  }

  public static FSDataInputStream openFSDataInputStream(File file, String owner, String group)
      throws IOException {
    return FileSystem.getLocal(new Configuration()).getRaw().open(new Path(file.getPath()));
  }

  public static FileInputStream openForRead(File file, String owner, String group)
      throws IOException {
    return new FileInputStream(file);
  }

  public static FileOutputStream createForWrite(File file, int permissions) throws IOException {
    if (!file.createNewFile()) {
      throw new AlreadyExistsException(file + " exists");
    }
    return new FileOutputStream(file);
  }
}
