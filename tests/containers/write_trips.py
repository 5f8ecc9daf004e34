"""Runs in the Spark container: writes the Hudi table /warehouse/trips, or another commit to it.

`python3 write_trips.py FIRST LAST`: the trips with ids from FIRST to before LAST, in files of 100.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

FILE_ROWS = 100
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
    "hoodie.datasource.write.operation": "bulk_insert",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": (
        "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    ),
    # Each DataFrame partition becomes a file.
    "hoodie.bulkinsert.sort.mode": "NONE",
    "hoodie.metadata.index.column.stats.column.list": "id,city",
}

first, last = map(int, sys.argv[1:])
# Our own job builds the index after the first commit; Hudi updates it from then on.
OPTIONS["hoodie.metadata.index.column.stats.enable"] = str(first > 0).lower()
spark = SparkSession.builder.appName("write trips").getOrCreate()
rows = spark.range(first, last, 1, (last - first) // FILE_ROWS).select(
    "id",
    (f.col("id") * 1.5).cast("decimal(12,2)").alias("fare"),
    f.concat(f.lit("city-"), (f.col("id") / FILE_ROWS).cast("int")).alias("city"),
)
rows.write.format("hudi").options(**OPTIONS).mode("append").save("/warehouse/trips")
spark.stop()
