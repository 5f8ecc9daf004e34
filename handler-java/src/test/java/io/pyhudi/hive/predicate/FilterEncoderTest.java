package io.pyhudi.hive.predicate;

import static io.pyhudi.hive.predicate.Expressions.call;
import static io.pyhudi.hive.predicate.Expressions.column;
import static io.pyhudi.hive.predicate.Expressions.constant;
import static io.pyhudi.hive.predicate.Expressions.encode;
import static io.pyhudi.hive.predicate.Expressions.type;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import org.apache.hadoop.hive.common.type.Date;
import org.apache.hadoop.hive.common.type.HiveChar;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.common.type.Timestamp;
import org.apache.hadoop.hive.ql.exec.UDFArgumentException;
import org.apache.hadoop.hive.ql.plan.DynamicValue;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDynamicValueDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeFieldDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFBetween;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFIn;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPEqualNS;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.PrimitiveObjectInspectorFactory;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What each kind of condition becomes. Text: operator(children), name:type, value:type. */
class FilterEncoderTest {
  private final ExprNodeDesc i = column("I", "int");
  private final ExprNodeDesc one = constant(1, "int");
  private final ExprNodeDesc two = constant(2, "int");

  @Test
  void comparisonsAreSearchArgumentLeaves() {
    assertEquals("EQUALS(i:int, 1:int)", encode(call("=", i, one)));
    assertEquals("LESS_THAN(i:int, 1:int)", encode(call("<", i, one)));
    assertEquals("LESS_THAN_EQUALS(i:int, 1:int)", encode(call("<=", i, one)));
    assertEquals("NOT(LESS_THAN_EQUALS(i:int, 1:int))", encode(call(">", i, one)));
    assertEquals("NOT(LESS_THAN(i:int, 1:int))", encode(call(">=", i, one)));
    assertEquals("NOT(EQUALS(i:int, 1:int))", encode(call("<>", i, one)));
    assertEquals("NULL_SAFE_EQUALS(i:int, 1:int)", encode(call(new GenericUDFOPEqualNS(), i, one)));
    assertEquals("IS_NULL(i:int)", encode(call("isnull", i)));
    assertEquals("NOT(IS_NULL(i:int))", encode(call("isnotnull", i)));
  }

  @Test
  void aConstantOnTheLeftTurnsTheComparison() {
    assertEquals("NOT(LESS_THAN_EQUALS(i:int, 1:int))", encode(call("<", one, i)));
  }

  @Test
  void inAndBetweenKeepTheirLiterals() {
    assertEquals("IN(i:int, 1:int, 2:int)", encode(call(new GenericUDFIn(), i, one, two)));
    ExprNodeDesc no = constant(false, "boolean");
    ExprNodeDesc yes = constant(true, "boolean");
    assertEquals(
        "BETWEEN(i:int, 1:int, 2:int)", encode(call(new GenericUDFBetween(), no, i, one, two)));
    assertEquals(
        "NOT(BETWEEN(i:int, 1:int, 2:int))",
        encode(call(new GenericUDFBetween(), yes, i, one, two)));
  }

  @Test
  void theTreeKeepsItsShape() {
    ExprNodeDesc a = call("=", i, one);
    ExprNodeDesc b = call("=", i, two);
    assertEquals(
        "OR(AND(EQUALS(i:int, 1:int), EQUALS(i:int, 2:int)), NOT(EQUALS(i:int, 1:int)))",
        encode(call("or", call("and", a, b), call("not", a))));
  }

  @Test
  void truthValuesAreConstants() {
    assertEquals("YES", encode(constant(true, "boolean")));
    assertEquals("NO", encode(constant(false, "boolean")));
    assertEquals("NULL", encode(constant(null, "boolean")));
  }

  @Test
  void aBooleanColumnStandsForItself() {
    assertEquals("EQUALS(b:boolean, true:boolean)", encode(column("b", "boolean")));
  }

  @Test
  void literalsAreExact() {
    assertEquals(
        "EQUALS(ts:timestamp, 50504523s456789001n:timestamp)",
        encode(
            call(
                "=",
                column("ts", "timestamp"),
                constant(Timestamp.valueOf("1971-08-08 13:02:03.456789001"), "timestamp"))));
    assertEquals(
        "EQUALS(dt:date, -12d:date)",
        encode(call("=", column("dt", "date"), constant(Date.valueOf("1969-12-20"), "date"))));
    assertEquals(
        "EQUALS(d:decimal(38,10), -0.0123456789:decimal(10,10))",
        encode(
            call(
                "=",
                column("d", "decimal(38,10)"),
                constant(HiveDecimal.create("-0.0123456789"), "decimal(10,10)"))));
    assertEquals(
        "EQUALS(s:string, 'x  ':string)",
        encode(call("=", column("s", "string"), constant("x  ", "string"))));
    assertEquals(
        "EQUALS(c:char(5), 'x':char(5))",
        encode(call("=", column("c", "char(5)"), constant(new HiveChar("x", 5), "char(5)"))));
    assertEquals(
        "EQUALS(d:double, NaN:double)",
        encode(call("=", column("d", "double"), constant(Double.NaN, "double"))));
    assertEquals(
        "EQUALS(f:float, 0.10000000149011612:float)",
        encode(call("=", column("f", "float"), constant(0.1f, "float"))));
  }

  @Test
  void floatingGreaterThanIsNotTheNegationOfLessThan() {
    ExprNodeDesc d = column("d", "double");
    ExprNodeDesc half = constant(0.5, "double");
    assertEquals("LESS_THAN(0.5:double, d:double)", encode(call(">", d, half)));
    assertEquals("LESS_THAN_EQUALS(0.5:double, d:double)", encode(call(">=", d, half)));
    assertEquals("LESS_THAN(0.5:double, d:double)", encode(call("<", half, d)));
    assertEquals("LESS_THAN_EQUALS(0.5:double, d:double)", encode(call("<=", half, d)));
  }

  @Test
  void implicitConversionsBecomeCasts() {
    assertEquals("EQUALS(l:bigint, 1:bigint)", encode(call("=", column("l", "bigint"), one)));
    assertEquals(
        "EQUALS(cast(i:int):bigint, l:bigint)", encode(call("=", i, column("l", "bigint"))));
    assertEquals(
        "EQUALS(d:double, 1.5:double)",
        encode(
            call("=", column("d", "double"), constant(HiveDecimal.create("1.5"), "decimal(2,1)"))));
  }

  @Test
  void comparisonsInUnexpectedTypesAreUnknown() {
    assertEquals("UNKNOWN", encode(call("=", column("s", "string"), one)));
    assertEquals("UNKNOWN", encode(call("=", column("f", "float"), column("d", "double"))));
    assertEquals("UNKNOWN", encode(call("=", column("c", "char(5)"), constant("x", "string"))));
  }

  @Test
  @Tag("session")
  void fieldsFunctionsAndCastsAreTerms() {
    ExprNodeDesc field =
        new ExprNodeFieldDesc(type("int"), column("st", "struct<a:int>"), "a", false);
    assertEquals("EQUALS(st.a:int, 1:int)", encode(call("=", field, one)));
    assertEquals("EQUALS(+(i:int, 1:int):int, 2:int)", encode(call("=", call("+", i, one), two)));
    assertEquals(
        "EQUALS(upper(s:string):string, 'X':string)",
        encode(call("=", call("upper", column("s", "string")), constant("X", "string"))));
    assertEquals(
        "EQUALS(cast(i:int):string, '1':string)",
        encode(call("=", call("string", i), constant("1", "string"))));
    assertEquals(
        "like(s:string, 'a%':string):boolean",
        encode(call("like", column("s", "string"), constant("a%", "string"))));
  }

  @Test
  void binariesAreComparedThoughHiveHasNoSearchArgumentForThem() {
    assertEquals(
        "EQUALS(b:binary, [1, -1]:binary)",
        encode(call("=", column("b", "binary"), constant(new byte[] {1, -1}, "binary"))));
  }

  @Test
  void inexpressiblePartsAreUnknownAndTheRestStays() {
    ExprNodeDesc dynamic =
        new ExprNodeDynamicValueDesc(new DynamicValue("RS_1", TypeInfoFactory.intTypeInfo));
    assertEquals(
        "AND(UNKNOWN, EQUALS(i:int, 1:int))",
        encode(call("and", call("=", i, dynamic), call("=", i, one))));
    assertEquals("UNKNOWN", encode(call("=", i, call(new OwnFunction(), i))));
    ExprNodeDesc virtual =
        new ExprNodeColumnDesc(TypeInfoFactory.longTypeInfo, "BLOCK__OFFSET", "t", true);
    assertEquals("UNKNOWN", encode(call("=", virtual, constant(1L, "bigint"))));
  }

  @Test
  void metastorePartitionColumnsAreOpaque() {
    assertEquals("UNKNOWN", encode(call("=", i, one), Collections.singleton("i")));
  }

  @Test
  void aDeepFilterIsCutOffWhereItGetsTooDeep() {
    ExprNodeDesc filter = call("=", i, one);
    for (int level = 0; level < 1000; level++) {
      filter = call(level % 2 == 0 ? "or" : "and", filter, call("=", i, two));
    }
    String text = encode(filter);
    assertTrue(text.startsWith("AND(OR(AND("), text);
    assertTrue(text.contains("AND(UNKNOWN, UNKNOWN), EQUALS(i:int, 2:int))"), text);
  }

  @Test
  void aChainOfOneConnectiveIsNotDeep() {
    ExprNodeDesc filter = call("=", i, one);
    for (int link = 0; link < 1000; link++) {
      filter = call("or", filter, call("=", i, two));
    }
    String text = encode(filter);
    assertTrue(text.startsWith("OR(EQUALS(i:int, 1:int), EQUALS(i:int, 2:int), "), text);
    assertFalse(text.contains("UNKNOWN"), text);
  }

  @Test
  void partsThatAServiceWouldRejectAreUnknown() {
    String large = String.join("", Collections.nCopies(70_000, "x"));
    assertEquals("UNKNOWN", encode(call("=", column("s", "string"), constant(large, "string"))));
    ExprNodeDesc[] many = new ExprNodeDesc[100_002];
    Arrays.fill(many, one);
    many[0] = i;
    assertEquals("UNKNOWN", encode(call(new GenericUDFIn(), many)));
  }

  /** A function of a user's. */
  public static final class OwnFunction extends GenericUDF {
    @Override
    public ObjectInspector initialize(ObjectInspector[] arguments) throws UDFArgumentException {
      return PrimitiveObjectInspectorFactory.javaIntObjectInspector;
    }

    @Override
    public Object evaluate(DeferredObject[] arguments) {
      return 1;
    }

    @Override
    public String getDisplayString(String[] children) {
      return "own()";
    }
  }
}
