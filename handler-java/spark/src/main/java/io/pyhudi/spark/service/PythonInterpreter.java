package io.pyhudi.spark.service;

import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.SparkSession;

/**
 * The Python of an application's driver: chosen as Spark chooses it, or {@code
 * spark.pyhudi.python}.
 */
public final class PythonInterpreter {
  public static final String ADVICE =
      "name a Python in which pyhudi-expr[spark] is installed by spark.pyspark.python, or for the"
          + " driver alone by spark.pyhudi.python";

  private static final String OWN = "spark.pyhudi.python";
  private static final String OF_WORKERS = "spark.pyspark.python";
  private static final String OF_DRIVER = "spark.pyspark.driver.python";
  private static final String PYTHON_PATH = "PYTHONPATH";
  private static final String WORKERS_VARIABLE = "PYSPARK_PYTHON";

  private final String program;
  private final Map<String, String> environment;

  private PythonInterpreter(String program, Map<String, String> environment) {
    this.program = program;
    this.environment = environment;
  }

  public static PythonInterpreter of(SparkSession session) {
    SparkConf settings = session.sparkContext().getConf();
    Map<String, String> variables = System.getenv();
    String ofWorkers = settings.get(OF_WORKERS, variables.get(WORKERS_VARIABLE));
    String ofDriver = variables.getOrDefault("PYSPARK_DRIVER_PYTHON", ofWorkers);
    String ofSpark = settings.get(OF_DRIVER, settings.get(OF_WORKERS, ofDriver));
    String chosen = session.conf().get(OWN, ofSpark);
    String program = chosen == null ? "python3" : chosen;
    Map<String, String> environment = new HashMap<>();
    if (ofWorkers != null) {
      environment.put(WORKERS_VARIABLE, ofWorkers);
    } else if (session.sparkContext().isLocal()) {
      // Tasks run on this machine: what runs the statement has the package.
      environment.put(WORKERS_VARIABLE, program);
    }
    environment.put(PYTHON_PATH, path(settings, variables.getOrDefault(PYTHON_PATH, "")));
    return new PythonInterpreter(program, environment);
  }

  public String program() {
    return program;
  }

  /** Returns the variables that differ from this JVM's. */
  public Map<String, String> environment() {
    return environment;
  }

  /** Returns where modules are found: those that the application ships, then Spark's own. */
  private static String path(SparkConf settings, String ofJvm) {
    List<String> places = new ArrayList<>();
    for (String file : settings.get("spark.submit.pyFiles", "").split(",")) {
      if (!file.isEmpty()) {
        String name = file.substring(file.lastIndexOf('/') + 1);
        places.add(new File(SparkFiles.getRootDirectory(), name).getPath());
      }
    }
    places.add(PythonUtils.sparkPythonPath());
    places.add(ofJvm);
    places.removeIf(String::isEmpty);
    return String.join(File.pathSeparator, places);
  }
}
