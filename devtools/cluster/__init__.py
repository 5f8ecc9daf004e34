"""A Hadoop cluster on one machine, from Maven artifacts: HDFS, YARN, and Hive in front of them."""
