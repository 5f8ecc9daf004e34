package truth;

import static io.trino.execution.querystats.PlanOptimizersStatsCollector.createPlanOptimizersStatsCollector;
import static io.trino.testing.TestingSession.testSessionBuilder;

import io.trino.Session;
import io.trino.execution.warnings.WarningCollector;
import io.trino.metadata.Metadata;
import io.trino.metadata.QualifiedObjectName;
import io.trino.plugin.memory.MemoryConnectorFactory;
import io.trino.spi.type.TimeZoneKey;
import io.trino.sql.planner.LogicalPlanner.Stage;
import io.trino.testing.LocalQueryRunner;
import io.trino.testing.MaterializedRow;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;

/** Trino, in this process, over tables in memory. */
final class TrinoJudge implements Judge.Engine {
    private final LocalQueryRunner runner = LocalQueryRunner.create(session("UTC", Map.of()));

    private TrinoJudge() {
        runner.createCatalog("memory", new MemoryConnectorFactory(), Map.of("memory.splits-per-node", "1"));
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Judge.serve(new TrinoJudge(), out);
    }

    @Override
    public void create(String table, String select) {
        runner.execute("CREATE TABLE " + table + " AS " + select);
    }

    @Override
    public void drop(String table) {
        QualifiedObjectName name = new QualifiedObjectName("memory", "default", table);
        Metadata metadata = runner.getMetadata();
        runner.inTransaction(session -> {
            var handle = metadata.getTableHandle(session, name).orElseThrow();
            metadata.dropTable(session, handle, name.asCatalogSchemaTableName());
            return null;
        });
    }

    @Override
    public void analyze(Judge.Session session, String sql) {
        runner.inTransaction(session(session.zone(), session.settings()), within -> runner.createPlan(
                within, sql, List.of(), Stage.CREATED, WarningCollector.NOOP, createPlanOptimizersStatsCollector()));
    }

    @Override
    public List<? extends Iterable<?>> execute(Judge.Session session, String sql) {
        var rows = runner.execute(session(session.zone(), session.settings()), sql).getMaterializedRows();
        return rows.stream().map(MaterializedRow::getFields).toList();
    }

    private static Session session(String zone, Map<String, String> settings) {
        return testSessionBuilder()
                .setCatalog("memory")
                .setSchema("default")
                .setTimeZoneKey(TimeZoneKey.getTimeZoneKey(zone))
                .setSystemProperties(settings)
                .build();
    }
}
