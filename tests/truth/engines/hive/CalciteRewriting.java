package io.pyhudi.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.calcite.jdbc.JavaTypeFactoryImpl;
import org.apache.calcite.plan.RelOptCluster;
import org.apache.calcite.plan.RelOptPlanner;
import org.apache.calcite.plan.RelOptUtil;
import org.apache.calcite.plan.RelTraitSet;
import org.apache.calcite.plan.hep.HepPlanner;
import org.apache.calcite.plan.hep.HepProgram;
import org.apache.calcite.plan.hep.HepProgramBuilder;
import org.apache.calcite.rel.RelNode;
import org.apache.calcite.rel.core.Filter;
import org.apache.calcite.rel.metadata.DefaultRelMetadataProvider;
import org.apache.calcite.rel.metadata.JaninoRelMetadataProvider;
import org.apache.calcite.rel.metadata.RelMetadataQuery;
import org.apache.calcite.rel.type.RelDataType;
import org.apache.calcite.rex.RexBuilder;
import org.apache.calcite.rex.RexLiteral;
import org.apache.calcite.rex.RexNode;
import org.apache.calcite.rex.RexUtil;
import org.apache.calcite.sql.type.SqlTypeName;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hadoop.hive.ql.optimizer.calcite.CalciteSemanticException;
import org.apache.hadoop.hive.ql.optimizer.calcite.HiveCalciteUtil;
import org.apache.hadoop.hive.ql.optimizer.calcite.HiveRexExecutorImpl;
import org.apache.hadoop.hive.ql.optimizer.calcite.HiveTypeSystemImpl;
import org.apache.hadoop.hive.ql.optimizer.calcite.reloperators.HiveFilter;
import org.apache.hadoop.hive.ql.optimizer.calcite.reloperators.HiveRelNode;
import org.apache.hadoop.hive.ql.optimizer.calcite.reloperators.HiveValues;
import org.apache.hadoop.hive.ql.optimizer.calcite.rules.HivePointLookupOptimizerRule;
import org.apache.hadoop.hive.ql.optimizer.calcite.rules.HivePreFilteringRule;
import org.apache.hadoop.hive.ql.optimizer.calcite.rules.HiveReduceExpressionsRule;
import org.apache.hadoop.hive.ql.optimizer.calcite.translator.RexTrees;
import org.apache.hadoop.hive.ql.optimizer.calcite.translator.TypeConverter;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.CalcitePlanner;
import org.apache.hadoop.hive.ql.parse.RowResolver;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.parse.type.RexNodeTypeCheck;
import org.apache.hadoop.hive.ql.parse.type.TypeCheckCtx;
import org.apache.hive.com.google.common.collect.ImmutableList;

/**
 * What CalcitePlanner makes of a filter, before Hive compiles it: constants are folded, types are
 * made alike, conditions are simplified where NULL is as good as FALSE.
 */
final class CalciteRewriting {
  private final String table;
  private final RowResolver columns;
  private final RelOptCluster cluster;
  private final RelNode scan;
  private final HepProgram program;

  CalciteRewriting(String table, RowResolver columns, HiveConf conf) throws SemanticException {
    this.table = table;
    this.columns = columns;
    RexBuilder builder = new RexBuilder(new JavaTypeFactoryImpl(new HiveTypeSystemImpl()));
    RelOptPlanner planner = CalcitePlanner.createPlanner(conf);
    planner.setExecutor(new HiveRexExecutorImpl());
    cluster = RelOptCluster.create(planner, builder);
    scan = oneRow(TypeConverter.getType(cluster, columns, null));
    HepProgramBuilder rules =
        new HepProgramBuilder()
            .addRuleInstance(
                new HivePreFilteringRule(conf.getIntVar(ConfVars.HIVE_CBO_CNF_NODES_LIMIT)))
            .addRuleCollection(
                ImmutableList.of(
                    HiveReduceExpressionsRule.FILTER_INSTANCE,
                    new HivePointLookupOptimizerRule.FilterCondition(
                        conf.getIntVar(ConfVars.HIVE_POINT_LOOKUP_OPTIMIZER_MIN))));
    program = rules.build();
  }

  /** Of what, matters not; but no row at all is what a filter becomes that is never TRUE. */
  private RelNode oneRow(RelDataType type) {
    RexBuilder builder = cluster.getRexBuilder();
    ImmutableList<RexLiteral> row =
        type.getFieldList().stream()
            .map(field -> builder.makeNullLiteral(field.getType()))
            .collect(ImmutableList.toImmutableList());
    return new HiveValues(cluster, type, ImmutableList.of(row), traits());
  }

  private RelTraitSet traits() {
    return cluster.traitSetOf(HiveRelNode.CONVENTION);
  }

  /** The filter's tree anew. */
  ASTNode rewrite(ASTNode tree) throws SemanticException {
    RexBuilder builder = cluster.getRexBuilder();
    TypeCheckCtx context = new TypeCheckCtx(columns, builder, false, false);
    Map<ASTNode, RexNode> found = RexNodeTypeCheck.genExprNode(tree, context);
    RexNode condition = found.get(tree);
    if (condition == null) {
      throw new SemanticException(context.getError());
    }
    if (condition.getType().getSqlTypeName() != SqlTypeName.BOOLEAN) {
      throw new CalciteSemanticException("Filter expression with non-boolean return type.");
    }
    RexNode simplified = simplified(RexUtil.pullFactors(builder, condition));
    return RexTrees.of(simplified, table, scan.getRowType(), builder);
  }

  private RexNode simplified(RexNode condition) {
    RexBuilder builder = cluster.getRexBuilder();
    RelMetadataQuery.THREAD_PROVIDERS.set(
        JaninoRelMetadataProvider.of(DefaultRelMetadataProvider.INSTANCE));
    HepPlanner planner = new HepPlanner(program, cluster.getPlanner().getContext());
    planner.setExecutor(new HiveRexExecutorImpl());
    planner.setRoot(
        new HiveFilter(
            cluster,
            traits(),
            scan,
            HiveCalciteUtil.fixNullability(
                builder, condition, RelOptUtil.getFieldTypeList(scan.getRowType()))));
    RelNode best = planner.findBestExp();
    List<RexNode> conditions = new ArrayList<>();
    // A rule may leave a filter above another one, which it then takes as given.
    while (best instanceof Filter filter) {
      conditions.add(filter.getCondition());
      best = filter.getInput();
    }
    // The filter is gone where it is always TRUE, and the row is where it never is.
    return best == scan
        ? RexUtil.composeConjunction(builder, conditions)
        : builder.makeLiteral(false);
  }
}
