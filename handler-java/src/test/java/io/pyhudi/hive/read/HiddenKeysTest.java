package io.pyhudi.hive.read;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;

class HiddenKeysTest {
  private static JobConf job(String columns) {
    JobConf job = new JobConf(false);
    job.set("columns", columns);
    job.set("columns.types", "string:string:int");
    return job;
  }

  @Test
  void theRecordKeyGetsANameThatNoFileHas() {
    JobConf job = job("_hoodie_commit_time,_hoodie_record_key,id");
    String hidden = HiddenKeys.in(job, "file:/table").get("columns");
    assertEquals("_hoodie_commit_time,_hoodie_record_key_of_no_file,id", hidden);
    assertEquals("_hoodie_commit_time,_hoodie_record_key,id", job.get("columns"));
  }

  @Test
  void otherColumnsKeepTheirs() {
    assertEquals(
        "a,my_hoodie_record_key,id",
        HiddenKeys.in(job("a,my_hoodie_record_key,id"), "t").get("columns"));
  }

  @Test
  void virtualColumnsStayBesideTheirTypes() {
    assertEquals(
        "_hoodie_record_key_of_no_file,id,INPUT__FILE__NAME",
        HiddenKeys.in(job("_hoodie_record_key,id,INPUT__FILE__NAME"), "t").get("columns"));
  }
}
