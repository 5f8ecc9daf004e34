package io.pyhudi.spark.read;

import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.SparkCondition;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BinaryArithmetic;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.JavaConverters;

/** Writes conditions of Catalyst in the form in which the pruning service reads them. */
final class ConditionEncoder {
  /** A larger set is not sent: the service takes it for a condition that it does not know. */
  static final int MAX_SET = 10_000;

  /** The identity of a column: another one in each plan, and no part of the condition's meaning. */
  private static final Pattern IDENTITY =
      Pattern.compile(
          "\"exprId\":\\{\"product-class\":\"[\\w.]+\",\"id\":\\d+,\"jvmId\":\"[\\w-]+\"\\}");

  private final SparkCondition condition;
  private int number;

  private ConditionEncoder(SparkCondition condition) {
    this.condition = condition;
  }

  /** Returns the conjunction of conditions; null if none can be written. */
  static SparkCondition encode(List<Expression> conjuncts, boolean valuesFromPaths) {
    Expression whole = null;
    for (Expression conjunct : conjuncts) {
      if (isWritable(conjunct)) {
        whole = whole == null ? conjunct : new And(whole, conjunct);
      }
    }
    if (whole == null) {
      return null;
    }
    String tree = IDENTITY.matcher(whole.toJSON()).replaceAll("\"exprId\":null");
    SparkCondition condition = new SparkCondition(tree);
    if (valuesFromPaths) {
      condition.setValuesFromPaths(true);
    }
    new ConditionEncoder(condition).visit(whole);
    return condition;
  }

  /** Some functions, such as those of a user, have fields that Spark does not write. */
  private static boolean isWritable(Expression conjunct) {
    try {
      conjunct.toJSON();
      return hasExactTexts(conjunct);
    } catch (RuntimeException | LinkageError e) {
      return false;
    }
  }

  /** A text may have bytes that are no UTF-8, for which Java shows another one. */
  private static boolean hasExactTexts(Expression node) {
    if (node instanceof org.apache.spark.sql.catalyst.expressions.Literal) {
      Object value = ((org.apache.spark.sql.catalyst.expressions.Literal) node).value();
      return !(value instanceof UTF8String)
          || UTF8String.fromString(value.toString()).equals(value);
    }
    for (Expression child : Scala.list(node.children())) {
      if (!hasExactTexts(child)) {
        return false;
      }
    }
    return true;
  }

  /** Visits nodes in the order in which {@code toJSON} writes them. */
  private void visit(Expression node) {
    int own = number++;
    if (node instanceof org.apache.spark.sql.catalyst.expressions.Literal) {
      constant(own, (org.apache.spark.sql.catalyst.expressions.Literal) node);
    } else if (node instanceof Like) {
      String escape = String.valueOf(((Like) node).escapeChar());
      condition.putToConstants(own, new Literal("string").setStringValue(escape));
    } else if (node instanceof InSet) {
      set(own, (InSet) node);
    } else if (isTried(node)) {
      condition.addToTried(own);
    }
    for (Expression child : Scala.list(node.children())) {
      visit(child);
    }
  }

  /** Returns whether an expression is NULL where it fails. */
  private static boolean isTried(Expression node) {
    Object mode =
        node instanceof Cast
            ? ((Cast) node).evalMode()
            : node instanceof BinaryArithmetic ? ((BinaryArithmetic) node).evalMode() : null;
    return mode != null && "TRY".equals(mode.toString());
  }

  private void constant(int own, org.apache.spark.sql.catalyst.expressions.Literal node) {
    DataType type = node.dataType();
    boolean isShownInWords =
        type.equals(DataTypes.DateType)
            || type.equals(DataTypes.TimestampType)
            || type.equals(DataTypes.TimestampNTZType)
            || type.equals(DataTypes.BinaryType);
    Literal value = isShownInWords && node.value() != null ? literal(node.value()) : null;
    if (value != null) {
      condition.putToConstants(own, value);
    }
  }

  private void set(int own, InSet node) {
    if (node.hset().size() > MAX_SET) {
      return;
    }
    List<Literal> values = new ArrayList<>();
    for (Object element : JavaConverters.asJavaIterable(node.hset())) {
      Literal value = literal(element);
      if (value == null) {
        return;
      }
      values.add(value);
    }
    condition.putToSets(own, values);
  }

  /** Returns a value of Spark's internal form; null for one that the protocol lacks. */
  private static Literal literal(Object value) {
    if (value == null) {
      return new Literal("void");
    }
    if (value instanceof Boolean) {
      return new Literal("boolean").setBooleanValue((Boolean) value);
    }
    if (value instanceof Float || value instanceof Double) {
      return new Literal("double").setDoubleValue(((Number) value).doubleValue());
    }
    if (value instanceof Number) {
      return new Literal("bigint").setIntegerValue(((Number) value).longValue());
    }
    if (value instanceof UTF8String) {
      return new Literal("string").setStringValue(value.toString());
    }
    if (value instanceof byte[]) {
      return new Literal("binary").setBinaryValue((byte[]) value);
    }
    return value instanceof Decimal ? decimal(((Decimal) value).toJavaBigDecimal()) : null;
  }

  private static Literal decimal(BigDecimal value) {
    BigDecimal exact = value.scale() < 0 ? value.setScale(0) : value;
    return new Literal("decimal(38," + exact.scale() + ")")
        .setUnscaledValue(exact.unscaledValue().toByteArray())
        .setScale(exact.scale());
  }
}
