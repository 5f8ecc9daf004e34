package io.pyhudi.spark.statements;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class StatementKindTest {
  private static final List<String> NONE = Collections.emptyList();

  @Test
  void theFirstWordsTellOurStatements() {
    assertTable(StatementKind.CREATE_INDEX, "create  index i\non db.t (c)", "db", "t");
    assertTable(StatementKind.CREATE_INDEX, "/* x */ CREATE INDEX IF NOT EXISTS i ON TABLE t", "t");
    assertTable(StatementKind.DROP_INDEX, "DROP INDEX `on` ON `a``b`.`c.d`", "a`b", "c.d");
    assertTable(
        StatementKind.SHOW_INDEXES,
        "-- on x\nshow indexes in spark_catalog.d.t;",
        "spark_catalog",
        "d",
        "t");
    assertTable(StatementKind.REFRESH_INDEX, "REFRESH INDEX indexes ON t", "t");
    assertTable(StatementKind.REFRESH_INDEXES, "REFRESH INDEXES FROM t", "t");
    assertTable(StatementKind.OPTIMIZE, "OPTIMIZE t ZORDER BY (a)", "t");
    assertTable(StatementKind.OPTIMIZE, "OPTIMIZE TABLE d.t", "d", "t");
    assertTable(StatementKind.ANALYZE_INDEXES, "ANALYZE INDEXES ON t FOR 'on x'", "t");
  }

  @Test
  void aPathOrNoTableIsNoName() {
    assertTable(StatementKind.OPTIMIZE, "OPTIMIZE '/data/t' ZORDER BY (a)");
    assertTable(StatementKind.SHOW_INDEXES, "SHOW INDEXES FROM \"s3://b/t\"");
    assertTable(StatementKind.DROP_INDEX, "DROP INDEX i");
  }

  @Test
  void othersAreNotOurs() {
    for (String text :
        Arrays.asList(
            "",
            "SELECT 1",
            "CREATE TABLE index (a int)",
            "SHOW INDEX",
            "`CREATE` INDEX i ON t",
            "ANALYZE TABLE t COMPUTE STATISTICS",
            "'OPTIMIZE' t",
            "OPTIMIZER t")) {
      assertFalse(StatementKind.of(StatementText.of(text, 32)).isPresent(), text);
    }
  }

  private static void assertTable(StatementKind kind, String text, String... parts) {
    StatementText words = StatementText.of(text, 32);
    assertEquals(kind, StatementKind.of(words).orElse(null), text);
    assertEquals(parts.length == 0 ? NONE : Arrays.asList(parts), kind.table(words), text);
  }
}
