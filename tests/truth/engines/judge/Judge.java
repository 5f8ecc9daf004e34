package truth;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * What an engine says of predicates over rows, asked in JSON, line by line.
 *
 * <p>A request has "rows" (a SELECT that gives them, with their numbers from 0 in a column "row"),
 * "count" (how many they are), "predicates", "zone", "settings" and "reasons" (whether it matters
 * why a row fails, which takes longer to tell). The answer has an object for each predicate. Its
 * "truths" has a letter for each row: t, f, n for NULL, ! where the row makes the predicate fail. Its
 * "reason" says why the predicate or a row fails. Without "truths" the predicate fails whatever the
 * row. Where a request itself fails the answer is one object, "broken".
 *
 * <p>With "terms" in place of "predicates" the answer has for each term its "type" and its "values" as
 * texts, without those of rows that fail; or neither, where it fails whatever the row.
 */
final class Judge {
    /** An engine. It refuses by a RuntimeException. */
    interface Engine {
        /** Make the rows of a SELECT a table; the session's zone is UTC. */
        void create(String table, String select);

        void drop(String table);

        /** Compile a query, up to its types. */
        void analyze(Session session, String sql);

        /** The rows of a query. */
        List<? extends Iterable<?>> execute(Session session, String sql);
    }

    record Session(String zone, Map<String, String> settings) {}

    /** Predicates of one query. */
    private static final int BATCH = 100;

    private static final ObjectMapper JSON = new ObjectMapper();

    private final Engine engine;
    private String rows = "";
    private int tables;

    private Judge(Engine engine) {
        this.engine = engine;
    }

    /** Answer requests until the input ends. out: what the engine itself prints goes elsewhere. */
    static void serve(Engine engine, PrintStream out) throws Exception {
        Judge judge = new Judge(engine);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        out.println("ready");
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            Object answer;
            try {
                answer = judge.answer(JSON.readTree(line));
            } catch (RuntimeException broken) {
                broken.printStackTrace();
                answer = Map.of("broken", message(broken));
            }
            out.println(JSON.writeValueAsString(answer));
        }
        System.exit(0);
    }

    private ArrayNode answer(JsonNode request) {
        use(request.get("rows").asText());
        Map<String, String> settings = new HashMap<>();
        request.get("settings").fields().forEachRemaining(
                setting -> settings.put(setting.getKey(), setting.getValue().asText()));
        Session session = new Session(request.get("zone").asText(), settings);
        Case over = new Case(session, "rows" + tables, request);
        if (request.has("terms")) {
            ArrayNode answers = JSON.createArrayNode();
            List<String> terms = new ArrayList<>();
            request.get("terms").forEach(text -> terms.add(text.asText()));
            for (int at = 0; at < terms.size(); at += BATCH) {
                over.values(terms.subList(at, Math.min(at + BATCH, terms.size())), answers);
            }
            return answers;
        }
        List<Predicate> predicates = new ArrayList<>();
        request.get("predicates").forEach(text -> predicates.add(new Predicate(text.asText())));
        for (int at = 0; at < predicates.size(); at += BATCH) {
            over.judge(predicates.subList(at, Math.min(at + BATCH, predicates.size())));
        }
        ArrayNode answers = JSON.createArrayNode();
        for (Predicate predicate : predicates) {
            answers.addObject().put("truths", predicate.truths).put("reason", predicate.reason);
        }
        return answers;
    }

    private void use(String select) {
        if (!select.equals(rows)) {
            if (!rows.isEmpty()) {
                engine.drop("rows" + tables);
            }
            rows = "";
            tables++;
            engine.create("rows" + tables, select);
            rows = select;
        }
    }

    private static final class Predicate {
        final String text;
        String truths;
        String reason;

        Predicate(String text) {
            this.text = "(" + text + "\n) AND TRUE"; // only of booleans; a comment may end it
        }

        boolean fails() {
            return truths.indexOf('!') >= 0;
        }
    }

    /** How a predicate is asked. */
    private enum Form {
        PLAIN(text -> text),
        /** TRY gives NULL for a row that fails: NULL itself becomes a value. */
        TRIED(text -> "try(coalesce(CAST((" + text + ") AS tinyint), tinyint '2'))");

        final Function<String, String> sql;

        Form(Function<String, String> sql) {
            this.sql = sql;
        }

        char letter(Object value) {
            if (this == TRIED) {
                return value == null ? '!' : "ftn".charAt(((Number) value).intValue());
            }
            return value == null ? 'n' : (Boolean) value ? 't' : 'f';
        }
    }

    private final class Case {
        private final Session session;
        private final String table;
        private final int count;
        private final boolean reasons;

        Case(Session session, String table, JsonNode request) {
            this.session = session;
            this.table = table;
            this.count = request.get("count").asInt();
            this.reasons = request.get("reasons").asBoolean();
        }

        /** Set what is known of each. predicates: at least one. */
        void judge(List<Predicate> predicates) {
            String refused = ask(Form.PLAIN, predicates);
            if (refused == null) {
                return;
            }
            boolean alone = predicates.size() == 1;
            boolean tried = ask(Form.TRIED, predicates) == null;
            List<Predicate> failing =
                    tried ? predicates.stream().filter(Predicate::fails).toList() : List.of();
            for (Predicate predicate : failing) {
                predicate.reason = reasons && !alone ? ask(Form.PLAIN, List.of(predicate)) : refused;
            }
            if (failing.isEmpty() && alone) {
                predicates.get(0).truths = null;
                predicates.get(0).reason = refused;
            } else if (failing.isEmpty()) {
                judgeParts(predicates);
            }
        }

        /** predicates: two or more that fail together, whatever the rows. */
        private void judgeParts(List<Predicate> predicates) {
            List<Predicate> compiled = predicates.stream().filter(this::compiles).toList();
            if (compiled.size() < predicates.size()) {
                if (!compiled.isEmpty()) {
                    judge(compiled);
                }
            } else {
                int half = predicates.size() / 2;
                judge(predicates.subList(0, half));
                judge(predicates.subList(half, predicates.size()));
            }
        }

        private boolean compiles(Predicate predicate) {
            try {
                engine.analyze(session, query(Form.PLAIN, List.of(predicate)));
            } catch (RuntimeException | StackOverflowError | LinkageError refused) {
                predicate.reason = message(refused);
            }
            return predicate.reason == null;
        }

        /** Set the truths of each. Why the engine refuses, or null. */
        private String ask(Form form, List<Predicate> predicates) {
            char[][] truths = new char[predicates.size()][count];
            try {
                for (Iterable<?> row : engine.execute(session, query(form, predicates))) {
                    var values = row.iterator();
                    int number = ((Number) values.next()).intValue();
                    for (char[] letters : truths) {
                        letters[number] = form.letter(values.next());
                    }
                }
            } catch (RuntimeException | StackOverflowError | LinkageError refused) {
                return message(refused);
            }
            for (int i = 0; i < truths.length; i++) {
                predicates.get(i).truths = new String(truths[i]);
            }
            return null;
        }

        private String query(Form form, List<Predicate> predicates) {
            List<String> terms = predicates.stream().map(one -> form.sql.apply(one.text)).toList();
            return "SELECT \"row\", " + String.join(", ", terms) + " FROM " + table;
        }

        /** Add what each term gives, in order. */
        void values(List<String> terms, ArrayNode answers) {
            List<? extends Iterable<?>> rows;
            try {
                rows = engine.execute(session, valuesQuery(terms));
            } catch (RuntimeException | StackOverflowError | LinkageError refused) {
                if (terms.size() == 1) {
                    answers.addObject();
                } else {
                    int half = terms.size() / 2;
                    values(terms.subList(0, half), answers);
                    values(terms.subList(half, terms.size()), answers);
                }
                return;
            }
            List<ObjectNode> added = terms.stream().map(term -> answers.addObject()).toList();
            added.forEach(one -> one.putArray("values"));
            for (Iterable<?> row : rows) {
                var cells = row.iterator();
                for (ObjectNode one : added) {
                    one.put("type", (String) cells.next());
                    Object value = cells.next();
                    if (value != null) {
                        one.withArray("values").add((String) value);
                    }
                }
            }
        }

        private String valuesQuery(List<String> terms) {
            List<String> both = terms.stream()
                    .map(term -> "typeof(try(" + term + ")), try(CAST((" + term + ") AS varchar))")
                    .toList();
            return "SELECT " + String.join(", ", both) + " FROM " + table;
        }
    }

    private static String message(Throwable refused) {
        return refused.getMessage() == null ? refused.toString() : refused.getMessage();
    }
}
