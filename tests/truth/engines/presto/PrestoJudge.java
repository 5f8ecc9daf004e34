package truth;

import static com.facebook.presto.testing.TestingSession.testSessionBuilder;

import com.facebook.presto.Session;
import com.facebook.presto.common.QualifiedObjectName;
import com.facebook.presto.common.type.TimeZoneKey;
import com.facebook.presto.metadata.Metadata;
import com.facebook.presto.plugin.memory.MemoryConnectorFactory;
import com.facebook.presto.spi.WarningCollector;
import com.facebook.presto.sql.Optimizer.PlanStage;
import com.facebook.presto.testing.LocalQueryRunner;
import com.facebook.presto.testing.MaterializedRow;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;

/** Presto, in this process, over tables in memory. */
final class PrestoJudge implements Judge.Engine {
    private final LocalQueryRunner runner = new LocalQueryRunner(session("UTC", Map.of()));

    private PrestoJudge() {
        runner.createCatalog("memory", new MemoryConnectorFactory(), Map.of("memory.splits-per-node", "1"));
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Judge.serve(new PrestoJudge(), out);
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
            var handle = metadata.getMetadataResolver(session).getTableHandle(name).orElseThrow();
            metadata.dropTable(session, handle);
            return null;
        });
    }

    @Override
    public void analyze(Judge.Session session, String sql) {
        runner.inTransaction(session(session.zone(), session.settings()), within ->
                runner.createPlan(within, sql, PlanStage.CREATED, WarningCollector.NOOP));
    }

    @Override
    public List<? extends Iterable<?>> execute(Judge.Session session, String sql) {
        var rows = runner.execute(session(session.zone(), session.settings()), sql).getMaterializedRows();
        return rows.stream().map(MaterializedRow::getFields).toList();
    }

    private static Session session(String zone, Map<String, String> settings) {
        var builder = testSessionBuilder()
                .setCatalog("memory")
                .setSchema("default")
                .setTimeZoneKey(TimeZoneKey.getTimeZoneKey(zone));
        settings.forEach(builder::setSystemProperty);
        return builder.build();
    }
}
