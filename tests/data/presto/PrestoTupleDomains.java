import static com.facebook.presto.common.type.BigintType.BIGINT;
import static com.facebook.presto.common.type.BooleanType.BOOLEAN;
import static com.facebook.presto.common.type.DateType.DATE;
import static com.facebook.presto.common.type.DoubleType.DOUBLE;
import static com.facebook.presto.common.type.IntegerType.INTEGER;
import static com.facebook.presto.common.type.RealType.REAL;
import static com.facebook.presto.common.type.SmallintType.SMALLINT;
import static com.facebook.presto.common.type.TinyintType.TINYINT;
import static com.facebook.presto.common.type.VarbinaryType.VARBINARY;
import static com.facebook.presto.common.type.VarcharType.VARCHAR;

import com.facebook.presto.common.block.*;
import com.facebook.presto.common.predicate.*;
import com.facebook.presto.common.type.*;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.*;
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.airlift.slice.*;
import java.io.IOException;
import java.math.BigInteger;
import java.util.*;

/** Writes Presto's own JSON of tuple domains, one a line, with the SQL that each of them means. */
public class PrestoTupleDomains {
    static final ObjectMapper MAPPER = new ObjectMapper().registerModule(new Jdk8Module());

    static void line(String sql, Map<String, Domain> domains) throws IOException {
        line(sql, TupleDomain.withColumnDomains(domains));
    }

    static void line(String sql, TupleDomain<String> domain) throws IOException {
        System.out.println("{\"sql\":" + MAPPER.writeValueAsString(sql) + ",\"tupleDomain\":"
                + MAPPER.writeValueAsString(domain) + "}");
    }

    static Domain ranges(boolean nulls, Range first, Range... rest) {
        return Domain.create(ValueSet.ofRanges(first, rest), nulls);
    }

    public static void main(String[] args) throws Exception {
        BlockEncodingManager encodings = new BlockEncodingManager();
        SimpleModule module = new SimpleModule();
        module.addSerializer(Block.class, new JsonSerializer<Block>() {
            @Override
            public void serialize(Block block, JsonGenerator out, SerializerProvider provider)
                    throws IOException {
                SliceOutput bytes = new DynamicSliceOutput(64);
                BlockSerdeUtil.writeBlock(encodings, bytes, block);
                out.writeString(Base64.getEncoder().encodeToString(bytes.slice().getBytes()));
            }
        });
        module.addSerializer(Type.class, new JsonSerializer<Type>() {
            @Override
            public void serialize(Type type, JsonGenerator out, SerializerProvider provider)
                    throws IOException {
                out.writeString(type.getTypeSignature().toString());
            }
        });
        MAPPER.registerModule(module);
        MAPPER.disable(MapperFeature.AUTO_DETECT_CREATORS, MapperFeature.AUTO_DETECT_FIELDS,
                MapperFeature.AUTO_DETECT_SETTERS, MapperFeature.AUTO_DETECT_GETTERS,
                MapperFeature.AUTO_DETECT_IS_GETTERS);
        MAPPER.setSerializationInclusion(JsonInclude.Include.NON_ABSENT);

        line("true", TupleDomain.all());
        line("false", TupleDomain.none());
        line("i = 3005", Map.of("i", Domain.singleValue(INTEGER, 3005L)));
        line("i IS NULL", Map.of("i", Domain.onlyNull(INTEGER)));
        line("i IS NOT NULL", Map.of("i", Domain.notNull(INTEGER)));
        line("l < 1 OR (l >= 5 AND l < 9) OR l IS NULL",
                Map.of("l", ranges(true, Range.lessThan(BIGINT, 1L), Range.range(BIGINT, 5L, true, 9L, false))));
        line("l BETWEEN -7 AND 7", Map.of("l", ranges(false, Range.range(BIGINT, -7L, true, 7L, true))));
        line("si = -3", Map.of("si", Domain.singleValue(SMALLINT, -3L)));
        line("ti IN (1, 2, 5)", Map.of("ti", Domain.multipleValues(TINYINT, List.of(1L, 2L, 5L))));
        line("b = true", Map.of("b", Domain.singleValue(BOOLEAN, true)));
        line("d >= 2.5", Map.of("d", ranges(false, Range.greaterThanOrEqual(DOUBLE, 2.5))));
        line("f <= CAST(0.5 AS FLOAT)",
                Map.of("f", ranges(false, Range.lessThanOrEqual(REAL, (long) Float.floatToIntBits(0.5f)))));
        line("s IN ('x', 'h\u00e9llo')", Map.of("s",
                Domain.multipleValues(VARCHAR, List.of(Slices.utf8Slice("x"), Slices.utf8Slice("h\u00e9llo")))));
        line("s >= 'm' OR s IS NULL",
                Map.of("s", ranges(true, Range.greaterThanOrEqual(VARCHAR, Slices.utf8Slice("m")))));
        line("c = CAST('ab' AS CHAR(5))",
                Map.of("c", Domain.singleValue(CharType.createCharType(5), Slices.utf8Slice("ab"))));
        line("bin = X'00ff'",
                Map.of("bin", Domain.singleValue(VARBINARY, Slices.wrappedBuffer((byte) 0, (byte) 0xff))));
        line("dt > DATE '2024-01-05'", Map.of("dt", ranges(false, Range.greaterThan(DATE, 19727L))));
        line("dec9 <= -12.34",
                Map.of("dec9", ranges(false, Range.lessThanOrEqual(DecimalType.createDecimalType(9, 2), -1234L))));
        line("dec38 = 123456789012345678901234567890.12", Map.of("dec38", Domain.singleValue(
                DecimalType.createDecimalType(38, 2),
                Decimals.encodeUnscaledValue(new BigInteger("12345678901234567890123456789012")))));
        line("dec38 < -1.00", Map.of("dec38", ranges(false, Range.lessThan(
                DecimalType.createDecimalType(38, 2), Decimals.encodeUnscaledValue(BigInteger.valueOf(-100))))));
        Map<String, Domain> several = new LinkedHashMap<>();
        several.put("i", ranges(false, Range.greaterThan(INTEGER, 5L)));
        several.put("s", Domain.singleValue(VARCHAR, Slices.utf8Slice("x")));
        line("i > 5 AND s = 'x'", several);
    }
}
