package io.pyhudi.spark.statements;

import io.pyhudi.spark.plans.LeafCommand;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import scala.collection.Seq;

/**
 * A write whose options are about virtual keys. Hudi's writers do not know them, so a process of
 * Python checks the rows, makes the table, and has Hudi write into it.
 */
public final class VirtualKeyWrite extends LeafCommand {
  private final SaveIntoDataSourceCommand write;

  /** Returns the plan of a write into a Hudi table, whose path is among its options. */
  public VirtualKeyWrite(SaveIntoDataSourceCommand write) {
    super(write.output(), write);
    this.write = write;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    PythonProcess.run(new WriteRun(session, write));
    return none();
  }

  @Override
  public String simpleString(int maxFields) {
    return "PyHudi write with virtual keys: " + write.simpleString(maxFields);
  }
}
