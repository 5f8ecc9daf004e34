package io.pyhudi.hive.metadata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;

class MetadataViewTest {
  private static final Path TABLE = new Path("s3a://lake/trips");
  private static final Path FILES = new Path("s3a://lake/.pyhudi-views/trips/files");

  @Test
  void aLocationIsThatOfAViewByItsDirectories() {
    MetadataView view = MetadataView.of(FILES);
    assertEquals(TABLE, view.basePath());
    assertEquals("files", view.name());
    assertEquals(FILES, view.location());
    for (Path other :
        new Path[] {
          TABLE, FILES.getParent(), new Path(FILES, "more"), new Path("/"), new Path("/a")
        }) {
      assertNull(MetadataView.of(other), other.toString());
    }
  }

  @Test
  void aTablePropertyMakesAViewOfATablesLocation() {
    assertEquals(FILES, MetadataView.of(TABLE, "files").location());
    assertEquals(FILES, MetadataView.of(FILES, "files").location());
    assertNull(MetadataView.of(TABLE, null));
  }

  @Test
  void aViewKeepsItsProperty() {
    Path root = new Path("s3a://lake/");
    assertThrows(IllegalArgumentException.class, () -> MetadataView.of(root, "files"));
    for (String property : new String[] {null, "history"}) {
      IllegalArgumentException refused =
          assertThrows(IllegalArgumentException.class, () -> MetadataView.of(FILES, property));
      assertTrue(refused.getMessage().contains("the location of files"), refused.getMessage());
    }
  }
}
