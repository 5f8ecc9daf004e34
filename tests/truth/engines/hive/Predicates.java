package io.pyhudi.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hadoop.hive.ql.exec.ColumnInfo;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.ParseDriver;
import org.apache.hadoop.hive.ql.parse.ParseException;
import org.apache.hadoop.hive.ql.parse.RowResolver;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.parse.type.ExprNodeTypeCheck;
import org.apache.hadoop.hive.ql.parse.type.TypeCheckCtx;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.serde2.typeinfo.StructTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;

/** HiveQL conditions over the columns of a table, as Hive's compiler understands them. */
final class Predicates {
  private static final String TABLE = "t";

  private final RowResolver columns = new RowResolver();
  private final ParseDriver parser = new ParseDriver();

  private final CalciteRewriting rewriting;

  /** The setting hive.cbo.enable decides, which is true by default, whether Calcite has a say. */
  Predicates(StructTypeInfo type, HiveConf conf) throws SemanticException {
    List<String> names = new ArrayList<>(type.getAllStructFieldNames());
    for (String name : names) {
      columns.put(
          TABLE, name, new ColumnInfo(name, type.getStructFieldTypeInfo(name), TABLE, false));
    }
    rewriting =
        conf.getBoolVar(ConfVars.HIVE_CBO_ENABLED)
            ? new CalciteRewriting(TABLE, columns, conf)
            : null;
  }

  /** The condition of a WHERE clause; what is no boolean is cast, as SemanticAnalyzer does it. */
  ExprNodeDesc parse(String text) throws ParseException, SemanticException {
    ASTNode tree = rewritten(parser.parseExpression(text), text);
    TypeCheckCtx context = new TypeCheckCtx(columns, false, true);
    Map<ASTNode, ExprNodeDesc> found = ExprNodeTypeCheck.genExprNode(tree, context);
    ExprNodeDesc predicate = found.get(tree);
    if (predicate == null) {
      throw new SemanticException(context.getError());
    }
    return predicate.getTypeInfo().accept(TypeInfoFactory.booleanTypeInfo)
        ? predicate
        : ExprNodeTypeCheck.getExprNodeDefaultExprProcessor()
            .createConversionCast(predicate, TypeInfoFactory.booleanTypeInfo);
  }

  private ASTNode rewritten(ASTNode tree, String text) throws ParseException {
    if (rewriting == null) {
      return tree;
    }
    try {
      return rewriting.rewrite(tree);
    } catch (SemanticException | RuntimeException e) {
      // Where Calcite fails, Hive compiles without it (CBOFallbackStrategy). The tree has changed.
      return parser.parseExpression(text);
    }
  }
}
