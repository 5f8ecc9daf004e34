import io.pyhudi.hive.client.Credentials;
import io.pyhudi.hive.client.PruningClient;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.client.ServiceAddress;
import io.pyhudi.hive.protocol.Literal;
import io.pyhudi.hive.protocol.Node;
import io.pyhudi.hive.protocol.NodeKind;
import io.pyhudi.hive.protocol.PartitionVerdict;
import io.pyhudi.hive.protocol.PredicateOperator;
import io.pyhudi.hive.protocol.PruneRequest;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.TableView;
import io.pyhudi.hive.protocol.pruningConstants;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.UUID;

/**
 * What a connector does with the domain of a column: ranges become nodes, the service answers.
 *
 * <p>java -cp pyhudi-hive-handler.jar:slf4j-api.jar Domains.java HOST:PORT TABLE COLUMN LOW HIGH
 * [null]
 *
 * <p>LOW and HIGH are texts, both included, "-" is no bound; with "null", rows without a value
 * match, too.
 */
public final class Domains {
  /** A range of texts; null is no bound. */
  record Range(String low, String high) {}

  /** What Trino's Domain says of a column: its ranges, and whether NULL is one of the values. */
  record Domain(String column, List<Range> ranges, boolean nullAllowed) {}

  /** Nodes in post-order: children before their parents, the root last. */
  static final class Filter {
    final List<Node> nodes = new ArrayList<>();

    int add(Node node, List<Integer> children) {
      node.setChildren(children);
      nodes.add(node);
      return nodes.size() - 1;
    }

    int column(String name) {
      return add(new Node(NodeKind.COLUMN).setPath(List.of(name.split("\\."))), List.of());
    }

    int text(String value) {
      Literal literal = new Literal("string").setStringValue(value);
      return add(new Node(NodeKind.LITERAL).setLiteral(literal), List.of());
    }

    int leaf(PredicateOperator op, Integer... children) {
      return add(new Node(NodeKind.LEAF).setOp(op), List.of(children));
    }

    int joined(NodeKind kind, List<Integer> children) {
      return children.size() == 1 ? children.get(0) : add(new Node(kind), children);
    }

    int domain(Domain domain) {
      List<Integer> either = new ArrayList<>();
      for (Range range : domain.ranges()) {
        List<Integer> both = new ArrayList<>();
        if (range.low() != null) {
          int low = text(range.low());
          both.add(leaf(PredicateOperator.LESS_THAN_EQUALS, low, column(domain.column())));
        }
        if (range.high() != null) {
          int column = column(domain.column());
          both.add(leaf(PredicateOperator.LESS_THAN_EQUALS, column, text(range.high())));
        }
        either.add(joined(NodeKind.AND, both));
      }
      if (domain.nullAllowed()) {
        either.add(leaf(PredicateOperator.IS_NULL, column(domain.column())));
      }
      return joined(NodeKind.OR, either);
    }
  }

  static String bound(String argument) {
    return argument.equals("-") ? null : argument;
  }

  public static void main(String[] arguments) {
    List<Range> ranges = List.of(new Range(bound(arguments[3]), bound(arguments[4])));
    Domain domain = new Domain(arguments[2], ranges, arguments.length > 5);
    Filter filter = new Filter();
    filter.domain(domain);
    PruneRequest request =
        new PruneRequest(
            pruningConstants.PROTOCOL_VERSION,
            UUID.randomUUID().toString(),
            arguments[1],
            filter.nodes,
            TableView.SNAPSHOT);
    List<ServiceAddress> services = ServiceAddress.parseList(arguments[0]);
    Credentials plain = new Credentials("", "", "", ""); // neither TLS nor a token
    PruningClient.Limits limits = new PruningClient.Limits(5_000, 64 << 20, 0);
    try {
      PruneResponse answer = PruningClient.shared().prune(request, services, plain, limits);
      for (PartitionVerdict verdict : answer.getVerdicts()) {
        List<String> line = new ArrayList<>(List.of(verdict.getPartitionPath()));
        line.add(verdict.getKind().name());
        if (verdict.isSetTokens()) {
          line.addAll(new TreeSet<>(verdict.getTokens()));
        }
        System.out.println(String.join("\t", line));
      }
    } catch (PruningException e) {
      System.err.println("every file is to be read: " + e.getMessage());
      System.exit(1);
    }
  }
}
