import io.pyhudi.hive.HudiMergeOnReadInputFormat;
import io.pyhudi.hive.scan.HudiSplit;
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.FunctionRegistry;
import org.apache.hadoop.hive.ql.exec.SerializationUtilities;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;

/**
 * The splits that the storage handler's input format makes of Hudi tables.
 *
 * <p>Arguments: the pruning service's address, a directory for the reports of scans, a file of
 * questions, a file for the answers. A question is a line of the table's path, the view, whether
 * the service may list the files, and the predicate as a column, its type, a function and a
 * literal, separated by tabs. An answer is a line for each split, and the line "end".
 */
public final class PlannedSplits {
  private static final String END = "end";

  private PlannedSplits() {}

  public static void main(String[] arguments) throws Exception {
    try (BufferedReader questions =
            new BufferedReader(new FileReader(arguments[2], StandardCharsets.UTF_8));
        PrintWriter answers = new PrintWriter(arguments[3], StandardCharsets.UTF_8)) {
      int number = 0;
      for (String line = questions.readLine(); line != null; line = questions.readLine()) {
        JobConf job = new JobConf();
        job.set("hive.query.id", "splits-" + number++);
        job.set("hudi.pruning.service.addresses", arguments[0]);
        job.set("hudi.pruning.report.dir", arguments[1]);
        job.set("hudi.pruning.timeout.ms", "60000");
        ask(job, line.split("\t"), answers);
      }
    }
    // Hudi and Hadoop leave threads.
    System.exit(0);
  }

  private static void ask(JobConf job, String[] question, PrintWriter answers) throws Exception {
    FileInputFormat.setInputPaths(job, new Path(question[0]));
    job.set("hudi.view", question[1]);
    job.set("hudi.pruning.listing", question[2]);
    ExprNodeGenericFuncDesc filter = filter(question[3], question[4], question[5], question[6]);
    job.set(TableScanDesc.FILTER_EXPR_CONF_STR, SerializationUtilities.serializeExpression(filter));
    for (InputSplit split : new HudiMergeOnReadInputFormat().getSplits(job, 1)) {
      answers.println(text((HudiSplit) split));
    }
    answers.println(END);
  }

  private static ExprNodeGenericFuncDesc filter(
      String column, String typeName, String function, String literal) throws Exception {
    PrimitiveTypeInfo type = TypeInfoFactory.getPrimitiveTypeInfo(typeName);
    return ExprNodeGenericFuncDesc.newInstance(
        FunctionRegistry.getFunctionInfo(function).getGenericUDF(),
        Arrays.asList(
            new ExprNodeColumnDesc(type, column, "t", false),
            new ExprNodeConstantDesc(type, value(typeName, literal))));
  }

  private static Object value(String type, String literal) {
    switch (type) {
      case "int":
        return Integer.valueOf(literal);
      case "bigint":
        return Long.valueOf(literal);
      case "double":
        return Double.valueOf(literal);
      case "string":
        return literal;
      default:
        throw new IllegalArgumentException("no literals of type " + type);
    }
  }

  /** Everything that a task is told, but the scan's numbers. */
  private static String text(HudiSplit split) throws Exception {
    FileSplit file = split.file();
    return String.join(
        " ",
        file.getPath().toString(),
        file.getStart() + "+" + file.getLength(),
        "of " + split.fileLength(),
        Set.of(file.getLocations()).toString(),
        "plain " + split.isPlainFile(),
        "without keys of " + split.hiddenKeysTable(),
        split.mergedSlice() == null
            ? "not merged"
            : split.mergedSlice().instant() + " " + split.mergedSlice().slice());
  }
}
