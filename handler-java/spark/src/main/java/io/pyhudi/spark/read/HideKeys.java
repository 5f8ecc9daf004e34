package io.pyhudi.spark.read;

import io.pyhudi.spark.service.PruningConf;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataTypes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Tuple2;
import scala.collection.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Shows {@code _hoodie_record_key} of tables with virtual keys as NULL, whatever files have stored.
 * Hudi's relation of a path has no such column if the table has no meta fields: a query may name it
 * nevertheless, and {@code *} remains as it is.
 *
 * <p>The targets of UPDATE, DELETE and MERGE remain: Hudi makes its writes of all that they have.
 */
public final class HideKeys extends Rule<LogicalPlan> {
  private static final Logger LOG = LoggerFactory.getLogger(HideKeys.class);
  private static final String KEY = HoodieRecord.RECORD_KEY_METADATA_FIELD;
  private static final TreeNodeTag<Boolean> HIDDEN = new TreeNodeTag<>("pyhudi.hidden.keys");
  private static final Seq<String> NO_QUALIFIER = Scala.seq(new ArrayList<>());

  private final SparkSession session;

  public HideKeys(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    try {
      return PruningConf.of(session).enabled()
          ? plan.resolveOperatorsUpWithNewOutput(new OfRelations(targets(plan)))
              .resolveOperatorsUp(new OfQueries())
          : plan;
    } catch (LinkageError e) { // another version of Hudi, whose tables are read as ever
      LOG.warn("Hudi's file index cannot be used, keys are shown as they are stored", e);
      return plan;
    }
  }

  private static Set<LogicalPlan> targets(LogicalPlan plan) {
    Set<LogicalPlan> targets = Collections.newSetFromMap(new IdentityHashMap<>());
    if (plan instanceof UpdateTable) {
      targets.addAll(Scala.list(((UpdateTable) plan).table().collectLeaves()));
    } else if (plan instanceof DeleteFromTable) {
      targets.addAll(Scala.list(((DeleteFromTable) plan).table().collectLeaves()));
    } else if (plan instanceof MergeIntoTable) {
      targets.addAll(Scala.list(((MergeIntoTable) plan).targetTable().collectLeaves()));
    }
    return targets;
  }

  private boolean hasVirtualKeys(LogicalPlan leaf) {
    return HudiRead.of(session, leaf).filter(HudiRead::hasVirtualKeys).isPresent();
  }

  private static boolean isKey(NamedExpression column) {
    return column.name().equalsIgnoreCase(KEY);
  }

  private static Alias nothing(Seq<String> qualifier) {
    return new Alias(
        new Literal(null, DataTypes.StringType),
        KEY,
        NamedExpression.newExprId(),
        qualifier,
        Option.empty(),
        NO_QUALIFIER);
  }

  private final class OfRelations
      extends AbstractPartialFunction<
          LogicalPlan, Tuple2<LogicalPlan, Seq<Tuple2<Attribute, Attribute>>>> {
    private final Set<LogicalPlan> targets;

    OfRelations(Set<LogicalPlan> targets) {
      this.targets = targets;
    }

    @Override
    public boolean isDefinedAt(LogicalPlan node) {
      return node.children().isEmpty()
          && node.getTagValue(HIDDEN).isEmpty()
          && !targets.contains(node)
          && hasVirtualKeys(node)
          && Scala.list(node.output()).stream().anyMatch(HideKeys::isKey);
    }

    @Override
    public Tuple2<LogicalPlan, Seq<Tuple2<Attribute, Attribute>>> apply(LogicalPlan node) {
      LogicalRelation found = (LogicalRelation) node; // which the session's catalog may keep
      LogicalRelation relation =
          found.copy(found.relation(), found.output(), found.catalogTable(), found.isStreaming());
      relation.setTagValue(HIDDEN, true);
      List<NamedExpression> columns = new ArrayList<>();
      List<Tuple2<Attribute, Attribute>> replaced = new ArrayList<>();
      for (Attribute column : Scala.list(relation.output())) {
        NamedExpression shown = isKey(column) ? nothing(column.qualifier()) : column;
        columns.add(shown);
        if (shown != column) {
          replaced.add(new Tuple2<>(column, shown.toAttribute()));
        }
      }
      return new Tuple2<>(new Project(Scala.seq(columns), relation), Scala.seq(replaced));
    }
  }

  /** Nodes that name the column, where the rows of a relation without it are whole. */
  private final class OfQueries extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    @Override
    public boolean isDefinedAt(LogicalPlan node) {
      return node.containsPattern(TreePattern.UNRESOLVED_ATTRIBUTE())
          && node.childrenResolved()
          && Scala.list(node.children()).stream().anyMatch(this::lacksColumn);
    }

    private boolean lacksColumn(LogicalPlan child) {
      return Scala.list(child.output()).stream().noneMatch(HideKeys::isKey)
          && Scala.list(child.collectLeaves()).stream()
              .anyMatch(
                  leaf -> hasVirtualKeys(leaf) && leaf.outputSet().subsetOf(child.outputSet()));
    }

    @Override
    public LogicalPlan apply(LogicalPlan node) {
      return node.transformExpressionsUp(new OfColumns());
    }
  }

  private static final class OfColumns extends AbstractPartialFunction<Expression, Expression> {
    @Override
    public boolean isDefinedAt(Expression node) {
      return node instanceof UnresolvedAttribute
          && ((UnresolvedAttribute) node).nameParts().last().equalsIgnoreCase(KEY);
    }

    @Override
    public Expression apply(Expression node) {
      return nothing(NO_QUALIFIER);
    }
  }
}
