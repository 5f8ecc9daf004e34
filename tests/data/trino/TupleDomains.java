import com.fasterxml.jackson.core.*;
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.airlift.slice.Slices;
import io.trino.spi.block.*;
import io.trino.spi.predicate.*;
import io.trino.spi.type.*;
import java.io.IOException;
import java.math.BigInteger;
import java.util.*;

import static io.trino.spi.type.BigintType.BIGINT;
import static io.trino.spi.type.BooleanType.BOOLEAN;
import static io.trino.spi.type.DateType.DATE;
import static io.trino.spi.type.DoubleType.DOUBLE;
import static io.trino.spi.type.IntegerType.INTEGER;
import static io.trino.spi.type.RealType.REAL;
import static io.trino.spi.type.SmallintType.SMALLINT;
import static io.trino.spi.type.TinyintType.TINYINT;
import static io.trino.spi.type.VarbinaryType.VARBINARY;
import static io.trino.spi.type.VarcharType.VARCHAR;

/** Writes Trino's own JSON of tuple domains, one a line, with the SQL that each of them means. */
public class TupleDomains {
    static final ObjectMapper MAPPER = new ObjectMapper().registerModule(new Jdk8Module());

    static void line(String sql, Map<String, Domain> domains) throws IOException {
        line(sql, TupleDomain.withColumnDomains(domains));
    }

    static void line(String sql, TupleDomain<String> domain) throws IOException {
        System.out.println("{\"sql\":" + MAPPER.writeValueAsString(sql) + ",\"tupleDomain\":" + MAPPER.writeValueAsString(domain) + "}");
    }

    static Domain ranges(boolean nulls, Range first, Range... rest) {
        return Domain.create(ValueSet.ofRanges(first, rest), nulls);
    }

    public static void main(String[] args) throws Exception {
        SimpleModule module = new SimpleModule();
        module.addSerializer(Block.class, new TestingBlockJsonSerde.Serializer(new TestingBlockEncodingSerde()));
        module.addSerializer(Type.class, new JsonSerializer<Type>() {
            public void serialize(Type type, JsonGenerator out, SerializerProvider provider) throws IOException {
                out.writeString(type.getTypeId().getId());
            }
        });
        MAPPER.registerModule(module);
        MAPPER.disable(MapperFeature.AUTO_DETECT_CREATORS, MapperFeature.AUTO_DETECT_FIELDS, MapperFeature.AUTO_DETECT_SETTERS, MapperFeature.AUTO_DETECT_GETTERS, MapperFeature.AUTO_DETECT_IS_GETTERS);
        MAPPER.setSerializationInclusion(com.fasterxml.jackson.annotation.JsonInclude.Include.NON_ABSENT);

        line("true", TupleDomain.all());
        line("false", TupleDomain.none());
        line("i = 3005", Map.of("i", Domain.singleValue(INTEGER, 3005L)));
        line("i IS NULL", Map.of("i", Domain.onlyNull(INTEGER)));
        line("i IS NOT NULL", Map.of("i", Domain.notNull(INTEGER)));
        line("l < 1 OR (l >= 5 AND l < 9) OR l IS NULL", Map.of("l", ranges(true, Range.lessThan(BIGINT, 1L), Range.range(BIGINT, 5L, true, 9L, false))));
        line("l BETWEEN -7 AND 7", Map.of("l", ranges(false, Range.range(BIGINT, -7L, true, 7L, true))));
        line("l > 4611686018427387904", Map.of("l", ranges(false, Range.greaterThan(BIGINT, 1L << 62))));
        line("si = -3", Map.of("si", Domain.singleValue(SMALLINT, -3L)));
        line("ti IN (1, 2, 5)", Map.of("ti", Domain.multipleValues(TINYINT, List.of(1L, 2L, 5L))));
        line("b = true", Map.of("b", Domain.singleValue(BOOLEAN, true)));
        line("d >= 2.5", Map.of("d", ranges(false, Range.greaterThanOrEqual(DOUBLE, 2.5))));
        line("f <= CAST(0.5 AS FLOAT)", Map.of("f", ranges(false, Range.lessThanOrEqual(REAL, (long) Float.floatToIntBits(0.5f)))));
        line("s IN ('x', 'h\u00e9llo', '\uD83D\uDE00')", Map.of("s", Domain.multipleValues(VARCHAR, List.of(Slices.utf8Slice("x"), Slices.utf8Slice("h\u00e9llo"), Slices.utf8Slice("\uD83D\uDE00")))));
        line("s >= 'm' OR s IS NULL", Map.of("s", ranges(true, Range.greaterThanOrEqual(VARCHAR, Slices.utf8Slice("m")))));
        line("c = CAST('ab' AS CHAR(5))", Map.of("c", Domain.singleValue(CharType.createCharType(5), Slices.utf8Slice("ab"))));
        line("bin = X'00ff'", Map.of("bin", Domain.singleValue(VARBINARY, Slices.wrappedBuffer((byte) 0, (byte) 0xff))));
        line("dt > DATE '2024-01-05'", Map.of("dt", ranges(false, Range.greaterThan(DATE, 19727L))));
        line("dec9 <= -12.34", Map.of("dec9", ranges(false, Range.lessThanOrEqual(DecimalType.createDecimalType(9, 2), -1234L))));
        line("dec38 = 123456789012345678901234567890.12", Map.of("dec38", Domain.singleValue(DecimalType.createDecimalType(38, 2), Int128.valueOf(new BigInteger("12345678901234567890123456789012")))));
        line("dec38 < -1.00", Map.of("dec38", ranges(false, Range.lessThan(DecimalType.createDecimalType(38, 2), Int128.valueOf(-100L)))));
        line("ts = TIMESTAMP '2024-01-05 12:00:00.123'", Map.of("ts", Domain.singleValue(TimestampType.TIMESTAMP_MILLIS, 1704456000123000L)));
        line("ts >= TIMESTAMP '2024-01-05 12:00:00.123456'", Map.of("ts", ranges(false, Range.greaterThanOrEqual(TimestampType.TIMESTAMP_MICROS, 1704456000123456L))));
        line("ts < TIMESTAMP '2024-01-05 12:00:00.123456789'", Map.of("ts", ranges(false, Range.lessThan(TimestampType.TIMESTAMP_NANOS, new LongTimestamp(1704456000123456L, 789000)))));
        line("ts = instant 1704456000123 ms", Map.of("ts", Domain.singleValue(TimestampWithTimeZoneType.TIMESTAMP_TZ_MILLIS, DateTimeEncoding.packDateTimeWithZone(1704456000123L, TimeZoneKey.UTC_KEY))));
        line("ts = instant 1704456000123456 us", Map.of("ts", Domain.singleValue(TimestampWithTimeZoneType.TIMESTAMP_TZ_MICROS, LongTimestampWithTimeZone.fromEpochMillisAndFraction(1704456000123L, 456000000, TimeZoneKey.getTimeZoneKey("Europe/Berlin")))));
        Map<String, Domain> several = new LinkedHashMap<>();
        several.put("i", ranges(false, Range.greaterThan(INTEGER, 5L)));
        several.put("s", Domain.singleValue(VARCHAR, Slices.utf8Slice("x")));
        line("i > 5 AND s = 'x'", several);
        List<Range> many = new ArrayList<>();
        for (long n = 0; n < 40; n++) many.add(Range.range(BIGINT, 10 * n, true, 10 * n + 3, true));
        StringJoiner sql = new StringJoiner(" OR ");
        for (long n = 0; n < 40; n++) sql.add("l BETWEEN " + 10 * n + " AND " + (10 * n + 3));
        line(sql.toString(), Map.of("l", Domain.create(ValueSet.copyOfRanges(BIGINT, many), false)));
    }
}
