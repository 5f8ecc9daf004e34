package org.apache.hadoop.hive.ql.optimizer.calcite.translator;

import org.apache.calcite.rel.type.RelDataType;
import org.apache.calcite.rex.RexBuilder;
import org.apache.calcite.rex.RexNode;
import org.apache.hadoop.hive.ql.parse.ASTNode;

/** Opens what ASTConverter keeps to its package. */
public final class RexTrees {
  private RexTrees() {}

  /** Calcite's expression over a table's columns as a tree of HiveQL, which Hive compiles anew. */
  public static ASTNode of(RexNode node, String table, RelDataType type, RexBuilder builder) {
    ASTConverter.Schema schema = new ASTConverter.Schema(table, type.getFieldList());
    return node.accept(new ASTConverter.RexVisitor(schema, false, builder));
  }
}
