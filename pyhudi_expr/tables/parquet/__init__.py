"""What Parquet files say of their row groups and pages, and pyarrow does not show.

Formats: https://github.com/apache/parquet-format (parquet.thrift, PageIndex.md, BloomFilter.md).
Bytes that are not as the format wants raise `NotParquetError`; bytes that are another file's, or
were changed without breaking the form, cannot be seen.
"""
