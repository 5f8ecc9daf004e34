package io.pyhudi.spark.read;

import io.pyhudi.spark.service.Answer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.HoodieFileIndex;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.Seq;

/**
 * Hudi's list of a table's files for one occurrence in a plan, without its own skipping, and
 * without the slices that the service proved to hold no row for which the conditions above this
 * occurrence are true.
 *
 * <p>Two of them are equal if they are of equal relations with equal conditions, so that Spark
 * still recognises equal scans.
 */
final class PrunedFileIndex implements FileIndex {
  private static final Seq<Expression> NO_FILTERS = Scala.seq(new ArrayList<>());

  private final HoodieFileIndex hudi;
  private final Question question;
  private final Answer answer;

  /** Conditions that Spark did not know when it planned: the keys of joins. */
  private final List<Expression> later;

  /** The answer by which files were listed; null: they were not. */
  private volatile Answer last;

  PrunedFileIndex(Question question, Answer answer) {
    this(question, answer, new ArrayList<>());
  }

  private PrunedFileIndex(Question question, Answer answer, List<Expression> later) {
    this.hudi = question.read().index();
    this.question = question;
    this.answer = answer;
    this.later = later;
  }

  /** Returns the index with further conditions. */
  PrunedFileIndex with(List<Expression> conditions) {
    return new PrunedFileIndex(question, answer, conditions);
  }

  HoodieFileIndex hudi() {
    return hudi;
  }

  boolean isAbout(Question other) {
    return Objects.equals(question.condition(), other.condition());
  }

  @Override
  public Seq<Path> rootPaths() {
    return hudi.rootPaths();
  }

  /**
   * The answer of the planner is about the data filters, or about conditions from which they
   * follow, but for those with subqueries: their results are known now.
   */
  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    List<Expression> conditions = new ArrayList<>(later);
    conditions.addAll(SubqueryValues.known(Scala.list(dataFilters)));
    last = answer(conditions);
    return hudi.prepareFileSlices(Scala.seq(question.read().slices().kept(partitionFilters, last)));
  }

  private Answer answer(List<Expression> conditions) {
    Question more = conditions.isEmpty() ? question : question.and(conditions);
    Answer asked = isAbout(more) ? answer : more.ask();
    return asked.counts() == null ? answer : asked;
  }

  @Override
  public String[] inputFiles() {
    List<String> names = new ArrayList<>();
    for (PartitionDirectory directory :
        Scala.list(listFiles(Scala.seq(question.aboutPartitions()), NO_FILTERS))) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        names.add(file.getPath().toString());
      }
    }
    return names.toArray(new String[0]);
  }

  @Override
  public void refresh() {
    hudi.refresh();
  }

  /** Spark broadcasts what is small: without an answer Hudi has to list the files now. */
  @Override
  public long sizeInBytes() {
    return answer.counts() != null
        ? answer.keptBytes()
        : question.read().slices().listedBytes(Scala.seq(question.aboutPartitions()));
  }

  @Override
  public StructType partitionSchema() {
    return hudi.partitionSchema();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PrunedFileIndex
        && ((PrunedFileIndex) other).hudi.equals(hudi)
        && ((PrunedFileIndex) other).isAbout(question)
        && ((PrunedFileIndex) other).later.equals(later);
  }

  @Override
  public int hashCode() {
    return 31 * hudi.hashCode() + Objects.hashCode(question.condition());
  }

  @Override
  public String toString() {
    Answer listed = last;
    return listed == null ? answer.text() : listed.text();
  }
}
