import static com.facebook.presto.common.type.BigintType.BIGINT;
import static com.facebook.presto.common.type.BooleanType.BOOLEAN;
import static com.facebook.presto.common.type.DateType.DATE;
import static com.facebook.presto.common.type.DoubleType.DOUBLE;
import static com.facebook.presto.common.type.IntegerType.INTEGER;
import static com.facebook.presto.common.type.VarcharType.VARCHAR;
import static com.facebook.presto.spi.relation.SpecialFormExpression.Form.AND;
import static com.facebook.presto.spi.relation.SpecialFormExpression.Form.COALESCE;
import static com.facebook.presto.spi.relation.SpecialFormExpression.Form.IF;
import static com.facebook.presto.spi.relation.SpecialFormExpression.Form.IN;
import static com.facebook.presto.spi.relation.SpecialFormExpression.Form.IS_NULL;
import static com.facebook.presto.spi.relation.SpecialFormExpression.Form.OR;

import com.facebook.presto.common.CatalogSchemaName;
import com.facebook.presto.common.QualifiedObjectName;
import com.facebook.presto.common.block.*;
import com.facebook.presto.common.type.*;
import com.facebook.presto.spi.function.*;
import com.facebook.presto.spi.relation.*;
import com.fasterxml.jackson.annotation.*;
import com.fasterxml.jackson.core.*;
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.airlift.slice.*;
import java.io.IOException;
import java.math.BigInteger;
import java.util.*;

/** Writes Presto's own JSON of row expressions, one a line, with the SQL that each of them means. */
public class PrestoRowExpressions {
    static final ObjectMapper MAPPER = new ObjectMapper().registerModule(new Jdk8Module());

    /** As that of functions of the engine, which is in presto-main. */
    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "@type")
    @JsonTypeName("$static")
    static class Handle implements FunctionHandle {
        private final Signature signature;

        Handle(Signature signature) {
            this.signature = signature;
        }

        @JsonProperty
        public Signature getSignature() {
            return signature;
        }

        @Override
        public CatalogSchemaName getCatalogSchemaName() {
            return signature.getName().getCatalogSchemaName();
        }

        @Override
        public String getName() {
            return signature.getName().toString();
        }

        @Override
        public FunctionKind getKind() {
            return signature.getKind();
        }
    }

    static RowExpression column(String name, Type type) {
        return new VariableReferenceExpression(Optional.empty(), name, type);
    }

    static RowExpression constant(Object value, Type type) {
        return new ConstantExpression(value, type);
    }

    static RowExpression call(String name, Type type, RowExpression... arguments) {
        TypeSignature[] types = Arrays.stream(arguments)
                .map(argument -> argument.getType().getTypeSignature())
                .toArray(TypeSignature[]::new);
        Signature signature = new Signature(QualifiedObjectName.valueOf("presto", "default", name),
                FunctionKind.SCALAR, type.getTypeSignature(), types);
        return new CallExpression(name, new Handle(signature), type, Arrays.asList(arguments));
    }

    static RowExpression operator(String name, RowExpression... arguments) {
        return call("$operator$" + name, BOOLEAN, arguments);
    }

    static RowExpression special(SpecialFormExpression.Form form, Type type, RowExpression... arguments) {
        return new SpecialFormExpression(form, type, arguments);
    }

    static void line(String sql, RowExpression expression) throws IOException {
        System.out.println("{\"sql\":" + MAPPER.writeValueAsString(sql) + ",\"rowExpression\":"
                + MAPPER.writeValueAsString(expression) + "}");
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

        RowExpression i = column("i", INTEGER), l = column("l", BIGINT), d = column("d", DOUBLE);
        RowExpression s = column("s", VARCHAR), b = column("b", BOOLEAN), dt = column("dt", DATE);
        Type decimal = DecimalType.createDecimalType(9, 2), wide = DecimalType.createDecimalType(38, 2);
        RowExpression dec9 = column("dec9", decimal), dec38 = column("dec38", wide);
        line("i = 3005", operator("equal", i, constant(3005L, INTEGER)));
        line("i <> 3005", operator("not_equal", i, constant(3005L, INTEGER)));
        line("l < -7", operator("less_than", l, constant(-7L, BIGINT)));
        line("l <= 5", operator("less_than_or_equal", l, constant(5L, BIGINT)));
        line("d > 2.5", operator("greater_than", d, constant(2.5, DOUBLE)));
        line("s >= 'm'", operator("greater_than_or_equal", s, constant(Slices.utf8Slice("m"), VARCHAR)));
        line("i IS DISTINCT FROM 5", operator("is_distinct_from", i, constant(5L, INTEGER)));
        line("NOT (i IS DISTINCT FROM NULL)", call("not", BOOLEAN, operator("is_distinct_from", i, constant(null, INTEGER))));
        line("l BETWEEN -7 AND 7", operator("between", l, constant(-7L, BIGINT), constant(7L, BIGINT)));
        line("s IN ('x', 'h\u00e9llo')", special(IN, BOOLEAN, s,
                constant(Slices.utf8Slice("x"), VARCHAR), constant(Slices.utf8Slice("h\u00e9llo"), VARCHAR)));
        line("i IS NULL", special(IS_NULL, BOOLEAN, i));
        line("NOT (i IS NULL)", call("not", BOOLEAN, special(IS_NULL, BOOLEAN, i)));
        line("b", b);
        line("i > 5 AND (s = 'x' OR l < 0)", special(AND, BOOLEAN,
                operator("greater_than", i, constant(5L, INTEGER)),
                special(OR, BOOLEAN, operator("equal", s, constant(Slices.utf8Slice("x"), VARCHAR)),
                        operator("less_than", l, constant(0L, BIGINT)))));
        line("dt > DATE '2024-01-05'", operator("greater_than", dt, constant(19727L, DATE)));
        line("dec9 <= -12.34", operator("less_than_or_equal", dec9, constant(-1234L, decimal)));
        line("dec38 < -1.00", operator("less_than", dec38,
                constant(Decimals.encodeUnscaledValue(BigInteger.valueOf(-100)), wide)));
        line("i + 1 = 6", operator("equal", call("$operator$add", INTEGER, i, constant(1L, INTEGER)), constant(6L, INTEGER)));
        line("CAST(i AS bigint) = 3005", operator("equal", call("$operator$cast", BIGINT, i), constant(3005L, BIGINT)));
        line("coalesce(i, 0) = 0", operator("equal", special(COALESCE, INTEGER, i, constant(0L, INTEGER)), constant(0L, INTEGER)));
        line("if(b, i, 0) = 3005", operator("equal",
                special(IF, INTEGER, b, i, constant(0L, INTEGER)), constant(3005L, INTEGER)));
        line("(i > 5) IS NULL", special(IS_NULL, BOOLEAN, operator("greater_than", i, constant(5L, INTEGER))));
    }
}
