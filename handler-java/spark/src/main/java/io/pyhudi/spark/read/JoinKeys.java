package io.pyhudi.spark.read;

import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec;
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec;
import org.apache.spark.sql.execution.joins.HashedRelation;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.Iterator;

/** The keys of a join's other side, once it has been broadcast. */
final class JoinKeys {
  private JoinKeys() {}

  /**
   * Returns that the key of a row is one of those of the broadcast side; empty if rows with other
   * keys are used, too, or if the keys are not known or too many.
   */
  static Optional<Expression> of(BroadcastHashJoinExec join) {
    boolean isBroadcast =
        join.buildPlan() instanceof BroadcastQueryStageExec
            && ((BroadcastQueryStageExec) join.buildPlan()).isMaterialized();
    if (!isBroadcast || !dropsOthers(join.joinType()) || join.streamedKeys().size() != 1) {
      return Optional.empty();
    }
    Object broadcast = join.buildPlan().executeBroadcast().value();
    if (!(broadcast instanceof HashedRelation)) {
      return Optional.empty();
    }
    Expression key = join.streamedKeys().head();
    Set<Object> values = values((HashedRelation) broadcast, key.dataType());
    return values.isEmpty() || values.size() > ConditionEncoder.MAX_SET
        ? Optional.empty()
        : Optional.of(new InSet(key, Scala.set(values)));
  }

  private static boolean dropsOthers(JoinType type) {
    return type == Inner$.MODULE$ || type == LeftSemi$.MODULE$;
  }

  /** Returns the keys without NULL, which joins with nothing; of too many only some. */
  private static Set<Object> values(HashedRelation relation, DataType type) {
    Set<Object> values = new HashSet<>();
    Iterator<InternalRow> rows = relation.asReadOnlyCopy().keys();
    while (rows.hasNext() && values.size() <= ConditionEncoder.MAX_SET) {
      values.add(value(rows.next(), type));
    }
    return values;
  }

  /** Reads a key; Spark stores those of all integer types as bigint. */
  private static Object value(InternalRow row, DataType type) {
    if (type instanceof LongType) {
      return row.getLong(0);
    }
    if (type instanceof IntegerType) {
      return Math.toIntExact(row.getLong(0));
    }
    if (type instanceof ShortType) {
      return (short) row.getLong(0);
    }
    if (type instanceof ByteType) {
      return (byte) row.getLong(0);
    }
    Object value = row.get(0, type);
    return value instanceof UTF8String ? ((UTF8String) value).copy() : value;
  }
}
