package io.pyhudi.hive.predicate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pyhudi.hive.protocol.PredicateOperator;
import io.pyhudi.hive.protocol.TruthValue;
import java.util.Collections;
import org.apache.hadoop.hive.ql.io.sarg.PredicateLeaf;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgument;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgumentFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Hive's operators and truth values have the same names in the protocol. */
class SearchArgumentsTest {
  @ParameterizedTest
  @EnumSource(PredicateLeaf.Operator.class)
  void everyOperatorHasItsOwn(PredicateLeaf.Operator operator) throws Exception {
    assertEquals(PredicateOperator.valueOf(operator.name()), SearchArguments.operator(operator));
  }

  @ParameterizedTest
  @EnumSource(SearchArgument.TruthValue.class)
  void everyTruthValueIsAConstant(SearchArgument.TruthValue truth) throws Exception {
    SearchArgument argument =
        SearchArgumentFactory.newBuilder().startAnd().literal(truth).end().build();
    NodeList nodes = new NodeList();
    new SearchArguments(nodes, Collections.singletonList("i"), "int", Collections.emptyList())
        .encode(argument);
    assertEquals(TruthValue.valueOf(truth.name()), nodes.nodes().get(0).getTruth());
  }
}
