import java.io.File;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.source.SourceFunction;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.runtime.typeutils.ExternalTypeInfo;
import org.apache.flink.table.types.DataType;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;

/** Writes small Hudi tables with Flink, one commit for each checkpoint: `java FlinkTables.java DIRECTORY [NAME...]`. */
public class FlinkTables {
    private static final String[] NAMES = {"id", "name", "amount", "score", "flag", "day", "at", "place", "bytes", "ts", "city"};
    private static final String[] TYPES = {
        "BIGINT", "STRING", "DECIMAL(10, 2)", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP(3)",
        "ROW<zone STRING, storey INT>", "BYTES", "BIGINT", "STRING"};
    private static final DataType ROW = DataTypes.ROW(
        DataTypes.FIELD("id", DataTypes.BIGINT().notNull()), DataTypes.FIELD("name", DataTypes.STRING()),
        DataTypes.FIELD("amount", DataTypes.DECIMAL(10, 2)), DataTypes.FIELD("score", DataTypes.DOUBLE()),
        DataTypes.FIELD("flag", DataTypes.BOOLEAN()), DataTypes.FIELD("day", DataTypes.DATE()),
        DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
        DataTypes.FIELD("place", DataTypes.ROW(
            DataTypes.FIELD("zone", DataTypes.STRING()), DataTypes.FIELD("storey", DataTypes.INT()))),
        DataTypes.FIELD("bytes", DataTypes.BYTES()), DataTypes.FIELD("ts", DataTypes.BIGINT()),
        DataTypes.FIELD("city", DataTypes.STRING()));
    private static final String METADATA = "metadata.enabled=true";
    // Not of amount and bytes: Flink's checkpoint fails on the statistics of log files with such.
    private static final String STATISTICS = "hoodie.metadata.index.column.stats.enable=true;"
        + "hoodie.metadata.index.column.stats.column.list=id,name,score,flag,day,at,ts,city";
    private static final String BUCKETS = "index.type=BUCKET;hoodie.bucket.index.num.buckets=";
    private static final String[] CITIES = {"Oslo", "Bergen", "New York"};

    /** The version `version` of row `id`; every third value of a column is out of the ordinary. */
    static Row row(RowKind kind, int id, int version, String city) {
        Object[] values = { (long) id, id % 7 == 6 ? null : "name " + id + (version > 1 ? " of " + version : ""),
            new BigDecimal(id * 10 + version).movePointLeft(1).setScale(2),
            id % 8 == 5 ? (Double) Double.NaN : Double.valueOf(id / 2.0 - 3 + version), id % 2 == 0,
            LocalDate.of(2024, 2, 27).plusDays(id % 4),
            LocalDateTime.of(2024, 2, 28, 22, 30).plusMinutes(37L * id).plusNanos(version * 1_000_000L),
            id % 6 == 4 ? null : Row.of("zone " + id % 3, id), ("b" + id).getBytes(), 1000L * version + id, city};
        Row result = Row.of(values);
        result.setKind(kind);
        return result;
    }

    static String city(int id) {
        return id == 9 ? null : CITIES[id % 3];
    }

    static Row insert(int id) {
        return row(RowKind.INSERT, id, 1, city(id));
    }

    static Row update(int id, int version) {
        return row(RowKind.UPDATE_AFTER, id, version, city(id));
    }

    static Row before(int id, int version) {
        return row(RowKind.UPDATE_BEFORE, id, version, city(id));
    }

    static Row delete(int id, int version) {
        return row(RowKind.DELETE, id, version, city(id));
    }

    static List<Row> inserts(int from, int until) {
        return IntStream.range(from, until).mapToObj(FlinkTables::insert).collect(Collectors.toList());
    }

    @SafeVarargs
    static List<Row> all(List<Row>... parts) {
        return Arrays.stream(parts).flatMap(List::stream).collect(Collectors.toList());
    }

    /** Inserts, updates (7 moves to another partition), deletes; 3 is deleted and comes back. */
    static List<List<Row>> life() {
        return life("Oslo");
    }

    static List<List<Row>> life(String cityOfSeven) {
        return List.of(
            inserts(0, 16),
            all(inserts(16, 20), List.of(before(2, 1), update(2, 2), before(5, 1), update(5, 2), delete(3, 1),
                before(8, 1), update(8, 2), before(7, 1), row(RowKind.UPDATE_AFTER, 7, 2, cityOfSeven))),
            all(inserts(20, 24), List.of(delete(16, 1), delete(0, 1), before(5, 2), update(5, 3),
                row(RowKind.INSERT, 3, 3, "Oslo"), delete(11, 1))));
    }

    /** One table: `options` are the connector's, each batch becomes a commit. */
    static final class Spec {
        final String name;
        final String partitions;
        final boolean keyed;
        final Map<String, String> options = new LinkedHashMap<>();
        List<List<Row>> batches = life();
        String awaited = "";
        String overwritten = "";

        Spec(String name, String partitions, boolean keyed, String... options) {
            this.name = name;
            this.partitions = partitions;
            this.keyed = keyed;
            for (String option : String.join(";", options).split(";")) {
                int at = option.indexOf('=');
                this.options.put(option.substring(0, at), option.substring(at + 1));
            }
            if (this.options.keySet().stream().anyMatch(option -> option.startsWith("hoodie.metadata.index"))) {
                this.options.put("metadata.enabled", "true");
            }
        }

        Spec batches(List<List<Row>> batches) {
            this.batches = batches;
            return this;
        }

        /** The job ends when the timeline has a file whose name ends so. */
        Spec until(String suffix) {
            this.awaited = suffix;
            return this;
        }

        /** Afterwards its rows are replaced by some of them, changed. */
        Spec overwritten(String city) {
            this.overwritten = city;
            return this;
        }

        String ddl(String path) {
            StringBuilder text = new StringBuilder("CREATE TABLE `" + name + "` (");
            for (int i = 0; i < NAMES.length; i++) {
                text.append(i > 0 ? ", " : "").append('`').append(NAMES[i]).append("` ").append(TYPES[i]);
            }
            text.append(keyed ? ", PRIMARY KEY (`id`) NOT ENFORCED)" : ")");
            text.append(partitions.isEmpty() ? "" : " PARTITIONED BY (`" + partitions + "`)");
            Map<String, String> with = new LinkedHashMap<>();
            with.put("connector", "hudi");
            with.put("path", path);
            with.put("table.type", name.startsWith("mor") ? "MERGE_ON_READ" : "COPY_ON_WRITE");
            with.put("precombine.field", "ts");
            with.put("write.tasks", "1");
            with.put("hoodie.parquet.small.file.limit", "0");
            with.put("write.bucket_assign.tasks", "1");
            with.put("compaction.tasks", "1");
            with.put("compaction.async.enabled", "false");
            with.put("compaction.schedule.enabled", "false");
            with.put("clean.async.enabled", "false");
            with.put("hoodie.archive.automatic", "false");
            with.put("hoodie.embed.timeline.server", "false");
            with.put("hoodie.index.bloom.num_entries", "100");
            with.putAll(options);
            text.append(" WITH (").append(with.entrySet().stream()
                .map(e -> "'" + e.getKey() + "' = '" + e.getValue() + "'").collect(Collectors.joining(", ")));
            return text.append(")").toString();
        }
    }

    /** Emits a batch, waits for a checkpoint that covers it, emits the next. */
    static final class Batches implements SourceFunction<Row>, CheckpointedFunction, CheckpointListener {
        private final List<List<Row>> batches;
        private final String timeline;
        private final String awaited;
        private final Map<Long, Integer> emittedAt = new TreeMap<>();
        private volatile int emitted;
        private volatile int covered;
        private volatile boolean running = true;

        Batches(List<List<Row>> batches, String timeline, String awaited) {
            this.batches = new ArrayList<>(batches);
            this.timeline = timeline;
            this.awaited = awaited;
        }

        @Override
        public void run(SourceContext<Row> context) throws Exception {
            for (List<Row> batch : batches) {
                synchronized (context.getCheckpointLock()) {
                    batch.forEach(context::collect);
                    emitted++;
                }
                while (running && covered < emitted) {
                    Thread.sleep(20);
                }
            }
            while (running && !awaited.isEmpty() && !isThere()) {
                Thread.sleep(50);
            }
        }

        private boolean isThere() {
            String[] names = new File(timeline).list();
            return names != null && Arrays.stream(names).anyMatch(name -> name.endsWith(awaited));
        }

        @Override
        public void cancel() {
            running = false;
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) {
            emittedAt.put(context.getCheckpointId(), emitted);
        }

        @Override
        public void initializeState(FunctionInitializationContext context) {}

        @Override
        public void notifyCheckpointComplete(long checkpoint) {
            covered = Math.max(covered, emittedAt.getOrDefault(checkpoint, 0));
        }
    }

    static List<Spec> specs() {
        return List.of(
            new Spec("cow_state", "city", true, STATISTICS, "hoodie.metadata.index.bloom.filter.enable=true"),
            new Spec("cow_cdc", "city", true, "cdc.enabled=true", "changelog.enabled=true")
                .batches(life(city(7))),
            new Spec("cow_hours", "at", true, BUCKETS + "1"),
            new Spec("cow_append", "city", false, "write.operation=insert", METADATA,
                "clustering.schedule.enabled=true", "clustering.delta_commits=2")
                .batches(List.of(inserts(0, 8), inserts(8, 16), inserts(16, 24))),
            new Spec("cow_clustered", "city", false, "write.operation=insert", METADATA,
                "clustering.schedule.enabled=true", "clustering.async.enabled=true", "clustering.delta_commits=2",
                "clustering.tasks=1", "clustering.plan.strategy.sort.columns=id")
                .batches(List.of(inserts(0, 8), inserts(8, 16), inserts(16, 24))).until(".replacecommit"),
            new Spec("cow_overwrite", "city", true, METADATA).overwritten("Oslo"),
            new Spec("mor_state", "city", true, STATISTICS),
            new Spec("mor_bucket", "city", true, BUCKETS + "2", STATISTICS, "compaction.schedule.enabled=true",
                "compaction.async.enabled=true", "compaction.delta_commits=2")
                .batches(life(city(7))).until(".commit"),
            new Spec("mor_consistent", "city", true, "index.type=BUCKET",
                "hoodie.index.bucket.engine=CONSISTENT_HASHING", "hoodie.bucket.index.num.buckets=2")
                .batches(life(city(7))),
            new Spec("mor_pending", "day", true, METADATA, "compaction.schedule.enabled=true",
                "compaction.delta_commits=2"),
            new Spec("mor_levels", "city`, `day", true, METADATA),
            new Spec("mor_changelog", "city", true, BUCKETS + "1", "changelog.enabled=true",
                "hoodie.datasource.write.hive_style_partitioning=true").batches(life(city(7))),
            new Spec("mor_compacted", "", true, "changelog.enabled=true", "compaction.schedule.enabled=true",
                "compaction.async.enabled=true", "compaction.delta_commits=2").until(".commit"));
    }

    static Map<Object, Row> expected(Spec spec) {
        Map<Object, Row> rows = new TreeMap<>();
        for (List<Row> batch : spec.batches) {
            for (Row row : batch) {
                if (row.getKind() == RowKind.DELETE) {
                    rows.remove(row.getField(0));
                } else if (row.getKind() != RowKind.UPDATE_BEFORE) {
                    rows.put(row.getField(0), row);
                }
            }
        }
        if (!spec.overwritten.isEmpty()) {
            rows.values().removeIf(row -> spec.overwritten.equals(row.getField(10)) && (long) row.getField(0) >= 9);
            rows.values().stream().filter(row -> spec.overwritten.equals(row.getField(10))).forEach(row -> {
                row.setField(1, "again");
                row.setField(9, 5000L);
            });
        }
        return rows;
    }

    static void overwrite(Spec spec, String root) throws Exception {
        List<Row> rows = new ArrayList<>();
        for (Row row : expected(spec).values()) {
            if (spec.overwritten.equals(row.getField(10))) {
                Row copy = Row.copy(row);
                copy.setKind(RowKind.INSERT);
                rows.add(copy);
            }
        }
        StreamExecutionEnvironment environment = environment();
        environment.setRuntimeMode(RuntimeExecutionMode.BATCH);
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        tables.executeSql(spec.ddl(root + "/" + spec.name));
        tables.createTemporaryView("written", tables.fromDataStream(
            environment.fromCollection(rows, ExternalTypeInfo.of(ROW)),
            Schema.newBuilder().fromRowDataType(ROW).build()));
        tables.executeSql("INSERT OVERWRITE `" + spec.name + "` PARTITION (city = '" + spec.overwritten
            + "') SELECT id, name, amount, score, flag, `day`, `at`, `place`, `bytes`, ts FROM written").await();
    }

    static StreamExecutionEnvironment environment() {
        Configuration configuration = new Configuration();
        configuration.set(RestOptions.BIND_PORT, "0");
        return StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
    }

    /** One row as JSON: dates and times as ISO texts, decimals and bytes as texts. */
    static String json(Row row) {
        StringBuilder text = new StringBuilder("{");
        for (int i = 0; i < NAMES.length; i++) {
            Object value = row.getField(i);
            text.append(i > 0 ? ", " : "").append('"').append(NAMES[i]).append("\": ");
            if (value instanceof Row) {
                Row place = (Row) value;
                text.append("{\"zone\": \"" + place.getField(0) + "\", \"storey\": " + place.getField(1) + "}");
            } else if (value instanceof byte[]) {
                text.append('"').append(new String((byte[]) value)).append('"');
            } else if (value == null || value instanceof Boolean || value instanceof Long || value instanceof Double) {
                text.append(value);
            } else {
                text.append('"').append(value).append('"');
            }
        }
        return text.append("}").toString();
    }

    static void write(Spec spec, String root) throws Exception {
        StreamExecutionEnvironment environment = environment();
        environment.enableCheckpointing(300);
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        tables.getConfig().set("table.exec.sink.upsert-materialize", "NONE");
        tables.executeSql(spec.ddl(root + "/" + spec.name));
        Schema.Builder schema = Schema.newBuilder().fromRowDataType(ROW);
        if (spec.keyed) {
            schema.primaryKey("id");
        }
        tables.createTemporaryView("changes", tables.fromChangelogStream(
            environment.addSource(new Batches(spec.batches, root + "/" + spec.name + "/.hoodie", spec.awaited),
                ExternalTypeInfo.of(ROW)),
            schema.build(), spec.keyed ? ChangelogMode.all() : ChangelogMode.insertOnly()));
        tables.executeSql("INSERT INTO `" + spec.name + "` SELECT * FROM changes").await();
    }

    static TreeSet<String> read(Spec spec, String root) throws Exception {
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        tables.getConfig().set("parallelism.default", "1");
        tables.executeSql(spec.ddl(root + "/" + spec.name));
        TreeSet<String> rows = new TreeSet<>();
        try (CloseableIterator<Row> found = tables.executeSql("SELECT * FROM `" + spec.name + "`").collect()) {
            found.forEachRemaining(row -> {
                row.setKind(RowKind.INSERT);
                rows.add(row.toString());
            });
        }
        return rows;
    }

    public static void main(String[] arguments) throws Exception {
        List<String> chosen = Arrays.asList(arguments).subList(1, arguments.length);
        for (Spec spec : specs()) {
            if (!chosen.isEmpty() && !chosen.contains(spec.name)) {
                continue;
            }
            write(spec, arguments[0]);
            if (!spec.overwritten.isEmpty()) {
                overwrite(spec, arguments[0]);
            }
            List<String> lines = new ArrayList<>();
            TreeSet<String> wanted = new TreeSet<>();
            for (Row row : expected(spec).values()) {
                lines.add(json(row));
                Row copy = Row.copy(row);
                copy.setKind(RowKind.INSERT);
                wanted.add(copy.toString());
            }
            TreeSet<String> found = read(spec, arguments[0]);
            if (!found.equals(wanted)) {
                throw new IllegalStateException(spec.name + ": Flink reads " + found + ", not " + wanted);
            }
            Files.write(Path.of(arguments[0], spec.name + ".jsonl"), lines);
            System.out.println(spec.name + ": " + wanted.size() + " rows");
        }
        System.exit(0);
    }
}
