/*
 * The pruning service's protocol, for every engine: the one definition from which the Java client
 * and the Python server are generated (`make idl`).
 *
 * An answer is a proof, not an order. It says which files of one table cannot hold a matching row,
 * at one instant. A file that the caller lists and the answer does not prove prunable is read.
 *
 * A file's token identifies its bytes: for a base file its name (Hudi never rewrites one under the
 * same name), for a log file "name@length" (older writers append to log files).
 *
 * A partition's digest is the SHA-256 over the tokens of all its files that are visible at the
 * instant and in the view, sorted as unsigned UTF-8 bytes, each followed by "\n".
 */
namespace java io.pyhudi.hive.protocol
namespace py pyhudi_expr.protocol.generated

/** The version of both sides; a service answers any other one with UNSUPPORTED_VERSION. */
const i32 PROTOCOL_VERSION = 1

/** What the first frame of a connection with a token begins with. No message begins so. */
const string TOKEN_PREFACE = "pyhudi-token "

/** Options of Hudi's writers that say what a table's own properties do not: its buckets. The second is the
    first one's name in Flink. */
const list<string> BUCKET_OPTIONS = [
  "hoodie.index.type",
  "index.type",
  "hoodie.index.bucket.engine",
  "hoodie.bucket.index.num.buckets",
  "hoodie.bucket.index.hash.field",
  "hoodie.bucket.index.partition.expressions"
]

/** Kinds of nodes. AND, OR, NOT, CONSTANT, LEAF are a SearchArgument's; the others are value terms. */
enum NodeKind {
  AND = 1,
  OR = 2,
  NOT = 3,
  /** A known truth value, in `truth`. */
  CONSTANT = 4,
  /** A comparison: `op` over the children (first the tested term, then its literals or terms). */
  LEAF = 5,
  /** A column or a nested field of one, in `path`; its declared type in `type`. */
  COLUMN = 6,
  /** A constant, in `literal`. */
  LITERAL = 7,
  /** A function of the children, by its Hive name in `functionName`; its result type in `type`. */
  FUNCTION = 8,
  /** An expression that the protocol cannot express, shown in `text`. It may be true, false or null. */
  UNKNOWN = 9
}

/** PredicateLeaf.Operator of Hive's SearchArgument. */
enum PredicateOperator {
  EQUALS = 1,
  NULL_SAFE_EQUALS = 2,
  LESS_THAN = 3,
  LESS_THAN_EQUALS = 4,
  IN = 5,
  BETWEEN = 6,
  IS_NULL = 7
}

/** SearchArgument.TruthValue: the set of values that rows may give. */
enum TruthValue {
  YES = 1,
  NO = 2,
  NULL = 3,
  YES_NULL = 4,
  NO_NULL = 5,
  YES_NO = 6,
  YES_NO_NULL = 7
}

/**
 * A typed, exact constant. Exactly one value field is set, the one of its type; a null constant
 * sets none.
 */
struct Literal {
  /** Hive's type name: boolean, tinyint ... bigint, float, double, decimal(p,s), string, char(n),
      varchar(n), date, timestamp, "timestamp with local time zone", binary, void. */
  1: required string type,
  2: optional bool booleanValue,
  /** tinyint, smallint, int, bigint. */
  3: optional i64 integerValue,
  /** float (widened without loss) and double. */
  4: optional double doubleValue,
  /** string, char and varchar, as the engine compares it. */
  5: optional string stringValue,
  6: optional binary binaryValue,
  /** decimal: the unscaled value, big-endian two's complement, and its scale. */
  7: optional binary unscaledValue,
  8: optional i32 scale,
  /** date: days since 1970-01-01, proleptic Gregorian. */
  9: optional i32 epochDays,
  /** timestamp: seconds since 1970-01-01 00:00 of the wall clock; with local time zone: of UTC. */
  10: optional i64 epochSeconds,
  /** The timestamp's nanoseconds within the second, 0 to 999,999,999. */
  11: optional i32 nanos
}

/**
 * Many distinct constants of one type, as packed arrays: the keys of a join's other side. They are
 * those that lie in ascending ranges, which do not meet. Numbers are 8 bytes each, little-endian, in
 * two's complement.
 */
struct Keys {
  /** Hive's type name: tinyint, smallint, int, bigint, date, timestamp or string. */
  1: required string type,
  /** How many keys there are. If the ranges have as many values, all of these are keys; else they
      have others, too, which are no keys. */
  2: required i64 count,
  /** The first value of each range: integers, days since 1970-01-01, or nanoseconds since 1970-01-01
      00:00 of the wall clock. */
  3: optional binary starts,
  /** The last value of each range; absent: each range is one value. */
  4: optional binary ends,
  /** string: the bytes of all keys in UTF-8, ascending as unsigned bytes, one behind the other. */
  5: optional binary texts,
  /** string: where each key ends in `texts`. */
  6: optional binary textEnds,
  /** NULL is among them. */
  7: optional bool hasNull
}

/** One node of a flattened tree. Children are indexes of earlier nodes, so no tree is cyclic. */
struct Node {
  1: required NodeKind kind,
  2: optional list<i32> children,
  3: optional PredicateOperator op,
  4: optional TruthValue truth,
  5: optional list<string> path,
  6: optional Literal literal,
  7: optional string functionName,
  8: optional string type,
  9: optional string text,
  /** Only of UNKNOWN, which services take it for that do not know the field: whether the column in
      `path`, of the declared type `type`, is one of these. */
  10: optional Keys keys
}

/** Which files of a slice the caller reads. */
enum TableView {
  /** Base files and log files. */
  SNAPSHOT = 1,
  /** Base files only. */
  READ_OPTIMIZED = 2
}

/**
 * A condition as Spark's optimiser has it. Constants of types that the text shows in words are here by
 * their numbers: a date as int (days since 1970-01-01), a timestamp as bigint (microseconds since
 * 1970-01-01 00:00 of UTC, without time zone of the wall clock).
 */
struct SparkCondition {
  /** The expression by TreeNode.toJSON: the list of its nodes, parents first. */
  1: required string tree,
  /** The values of constants that are dates, timestamps or binary, and the escape characters of LIKE
      (string), by the numbers of their nodes, counted from 0. */
  2: optional map<i32, Literal> constants,
  /** The values of sets (InSet), by the numbers of their nodes. */
  3: optional map<i32, list<Literal>> sets,
  /** Partition columns have the values of the paths, not of the files. */
  4: optional bool valuesFromPaths,
  /** The numbers of the nodes that are NULL where they fail (evalMode TRY). */
  5: optional list<i32> tried
}

/**
 * The rows that are enough for the query: a LIMIT over the filter's rows, with nothing between them
 * that removes, adds or changes rows.
 */
struct FirstRows {
  /** So many, those that an OFFSET passes over included. */
  1: required i64 rows,
  /** The first column of their order, as the path of a COLUMN, and its declared type; absent: any
      rows will do. Further columns only decide among rows that are equal in this one. */
  2: optional list<string> path,
  3: optional string type,
  /** From the greatest value on. */
  4: optional bool descending,
  /** NULL comes before all values, else behind them. */
  5: optional bool nullsFirst,
  /** Of rows that are equal in this column any will do: a minimum or maximum is wanted. */
  6: optional bool anyOfEqual
}

/** A time zone, by the rules of the process that evaluates with it. */
struct Zone {
  /** As the process names it. */
  1: required string name,
  /** The transitions between 1900-01-01 and 2200-01-01 of UTC, little-endian: N instants of 8 bytes,
      ascending, in seconds since 1970, from each of which another offset is valid; then N + 1 offsets
      to UTC of 4 bytes, in seconds, the first of which is valid before them all. Absent: the rules are
      not known; they may be any, unless the name itself says the offset. */
  2: optional binary rules
}

/**
 * What the meaning of a filter depends on beside its text: what the engine's process decides. What is
 * absent is not known.
 */
struct Semantics {
  /** hive, spark, trino or presto; others are as if absent. */
  1: optional string engine,
  2: optional string engineVersion,
  /** The zones that this structure and the filter name. Of others the rules are not known. */
  3: optional list<Zone> zones,
  /** The name of the zone in which expressions that name none are evaluated: the session's. */
  4: optional string zone,
  /** The name of the zone whose wall clock shows an instant of a file where the engine reads
      instants as wall clocks: for Hive that of the task's JVM. Absent: the session's. */
  5: optional string readingZone,
  /** Settings of the session that change an evaluation, if they are not the engine's defaults. */
  6: optional map<string, string> settings
}

struct PruneRequest {
  1: required i32 protocolVersion,
  /** Echoed in the answer and logged on both sides: the query's id. */
  2: required string requestId,
  /** The table's base path, as a URI or an absolute path. */
  3: required string basePath,
  /** The filter in post-order; the last node is the root. */
  4: required list<Node> filter,
  5: required TableView view,
  /** Absent: nothing is known. */
  6: optional Semantics semantics,
  /** Time travel: read as of this instant; absent: the latest completed one. */
  7: optional string asOfInstant,
  /** The caller's newest completed instant (requested time): an older view of the table is no
      answer. */
  8: optional string newestInstant,
  /** Count the rows of the files that are kept, too; for a planner. */
  9: optional bool countRows,
  /** Describe the table's columns, too; for a planner. */
  10: optional bool describeColumns,
  /** List the slices that are kept, too, for a caller that can use them instead of a listing. */
  11: optional bool listKept,
  /** Prove which rows of the base files that are kept can match, too. */
  12: optional bool selectRows,
  /** The condition in place of `filter`, which is one UNKNOWN then: services that do not know this
      field keep every file. Partition columns are understood as Hudi's reader for Spark shows them. */
  13: optional SparkCondition sparkCondition,
  /** List those of the kept slices only that have the rows which are enough, too. It narrows the
      list, which is about one state of the table, and the counts. Verdicts are about any row. */
  14: optional FirstRows firstRows,
  /** The same where the first rows of several orders are enough together; `firstRows` is absent then,
      as services that do not know this field list every slice. */
  15: optional list<FirstRows> firstRowsOfEach,
  /** Answer with the rows that match, if that is certain, and with what these columns hold there; their
      names in any case. */
  16: optional list<string> describeMatching,
  /** Answer with the number of rows of the kept slices by the values of these partition columns, if both
      are known of each slice; names in any case. */
  17: optional list<string> countBy,
  /** How long the caller waits for the answer, from when it sends the request. If the table must be opened
      first and that takes longer, the answer is NOT_PRUNED before the time is up, and opening goes on. */
  18: optional i32 patienceMillis,
  /** What the engine's catalog or session says of the table's buckets, by BUCKET_OPTIONS. Others are
      ignored. */
  19: optional map<string, string> catalogProperties
}

/** The meaning of a partition's verdict. */
enum VerdictKind {
  /** By its partition values no row can match: drop it with all its files. */
  DROP_PARTITION = 1,
  /** Drop every file, if the caller's own listing of the partition has the digest. */
  DROP_LISTED = 2,
  /** Drop the files whose tokens are in `tokens`. */
  DROP_TOKENS = 3,
  /** Keep the files whose tokens are in `tokens` and drop the others, if the caller's own listing
      has the digest. */
  KEEP_TOKENS = 4
}

/** The proof for one partition. Every file of a partition without a verdict is kept. */
struct PartitionVerdict {
  /** The partition path relative to the table's base path, as Hudi writes it; "" for none. */
  1: required string partitionPath,
  2: required VerdictKind kind,
  3: optional list<string> tokens,
  4: optional binary digest
}

enum PruneStatus {
  OK = 1,
  /** Nothing could be proved; `message` says why. Every file is kept. */
  NOT_PRUNED = 2,
  UNSUPPORTED_VERSION = 3,
  /** The request broke a limit or the protocol. */
  BAD_REQUEST = 4,
  /** The service failed; its log has the details. */
  FAILED = 5
}

/** Counts of one answer, of the files as the service listed them. */
struct PruneCounts {
  1: required i64 filesConsidered,
  2: required i64 filesDropped,
  3: required i64 partitionsConsidered,
  4: required i64 partitionsDropped,
  5: required i64 bytesConsidered,
  6: required i64 bytesDropped,
  /** Time spent in the service, microseconds. */
  7: required i64 elapsedMicros,
  /** Rows of the files that are kept, at most; absent: not requested, or unknown. */
  8: optional i64 rowsKept,
  /** Whether a scan of these files gives exactly so many rows, without any filter. */
  9: optional bool rowsAreExact,
  /** The dropped files by the index that excluded them: of those that the indexes before it left. */
  10: optional map<string, i64> filesDroppedBy
}

/** Statistics of one column over all files of the table; absent: unknown. */
struct ColumnSummary {
  /** As in the table's schema. */
  1: required string name,
  /** Rows in which it is NULL. */
  2: optional i64 nulls,
  /** Every value is between these; of text only where they are attained, and not of binary. */
  3: optional Literal least,
  4: optional Literal greatest,
  /** About so many distinct values, at most. */
  5: optional i64 distinct,
  /** The mean length of a text or binary, in bytes. */
  6: optional double length,
  /** The share of the files that "column = one of its values" keeps, on average. */
  7: optional double keptByEquality,
  /** Whether `least` and `greatest` are values of rows that a scan gives: what min and max are. */
  8: optional bool attained
}

/**
 * The slices that have to be read, as Hudi's file system view shows them in the requested view. All
 * others are proved to hold no matching row, or none that the query needs beside those of the listed
 * ones (`firstRows`), if the table is in the state that the service saw: a caller uses the list only
 * if its own timeline has the same digest.
 *
 * Slices are in the order of their partitions, files in the order of their slices: first the base
 * file, if the slice has one, then its log files.
 */
struct KeptSlices {
  /** The SHA-256 over the active timeline, of each instant in its latest state a line
      "requestedTime.action.STATE\n" (REQUESTED, INFLIGHT or COMPLETED), sorted as bytes. */
  1: required binary timelineDigest,
  /** The paths of the partitions that have a slice to read, and how many each has. */
  2: required list<string> partitions,
  3: required list<i32> partitionSlices,
  /** Of each slice. */
  4: required list<string> fileIds,
  5: required list<string> baseInstants,
  6: required list<bool> haveBaseFile,
  7: required list<i32> logFiles,
  /** Of each file. */
  8: required list<string> fileNames,
  9: required list<i64> fileSizes
}

/**
 * The rows of one base file that can match, by its row groups and pages. No other row of it can. This
 * holds for the file of this size and footer only: a caller reads any other one whole.
 *
 * If the slice has log files, this is about the rows whose record keys no log file names. A caller
 * merges the others wherever they are, or reads the file whole.
 *
 * Rows are counted from 0 over the whole file. Ranges are not empty, ascend, and do not touch.
 */
struct SelectedRows {
  /** The partition path relative to the table's base path; "" for none. */
  1: required string partitionPath,
  2: required string fileName,
  /** The file's size in bytes. */
  3: required i64 fileSize,
  /** The SHA-256 of the file's metadata as it lies in the footer (Parquet's FileMetaData, without
      its length and the magic number behind it). */
  4: required binary footerDigest,
  /** The first row of each range, and the first one behind it. No range: no row can match. */
  5: required list<i64> rangeStarts,
  6: required list<i64> rangeEnds,
  /** Of each row group of the file: its rows, the byte at which it begins, and its compressed size
      in bytes. */
  7: required list<i64> rowGroupRows,
  8: required list<i64> rowGroupOffsets,
  9: required list<i64> rowGroupBytes
}

/**
 * All rows that match, in the state of the table that the service saw: every row of each slice that is
 * kept matches, and they are counted.
 */
struct MatchingRows {
  1: required i64 rows,
  /** The columns of the request, over these rows alone, as far as they are known. */
  2: required list<ColumnSummary> columns
}

/** Rows of the kept slices that have the same values in the columns of the request. */
struct EqualRows {
  /** Of each column, in the order of the request. */
  1: required list<Literal> values,
  2: required i64 rows
}

struct PruneResponse {
  1: required i32 protocolVersion,
  2: required string requestId,
  /** The base path of the request, unchanged: callers reject a response for another table. */
  3: required string basePath,
  4: required PruneStatus status,
  /** The instant of the evaluated files (requested time). */
  5: optional string instant,
  6: optional list<PartitionVerdict> verdicts,
  7: optional PruneCounts counts,
  /** Why nothing, or less, was pruned, for the log. */
  8: optional string message,
  /** Of the table's columns, in its order; absent: not requested, or unknown. */
  9: optional list<ColumnSummary> columns,
  /** Absent: not requested, or too many. */
  10: optional KeptSlices kept,
  /** Of the base files that need not be read whole. Absent: not requested, or none. */
  11: optional list<SelectedRows> selectedRows,
  /** Absent: not requested, or not certain. */
  12: optional MatchingRows matching,
  /** All rows of the kept slices, in the state that the service saw, whether they match or not. Absent:
      not requested, not known of each slice, or too many. */
  13: optional list<EqualRows> counted,
  /** With BAD_REQUEST: keys are virtual, and `message` names the key column that the table does not have,
      or that is null in a row. A caller that can ends its query by it. */
  14: optional bool lacksKeys,
  /** Keys are virtual, and files have stored ones, which readers ignore. Absent: not that is known. */
  15: optional bool ignoresKeys
}

/** A question for rows that describe a table. */
struct MetadataRequest {
  1: required i32 protocolVersion,
  /** Echoed in the answer and logged on both sides: the query's id. */
  2: required string requestId,
  /** The table's base path, as a URI or an absolute path. */
  3: required string basePath,
  /** What is described: files, history, indexes or column_ranges. */
  4: required string view,
  /** The filter over the view's columns in post-order, as in a PruneRequest: rows for which it
      cannot be TRUE are not sent. */
  5: required list<Node> filter,
  /** As in a PruneRequest. */
  6: optional Semantics semantics,
  /** The columns whose values are sent; absent: all. */
  7: optional list<string> columns
}

/** The values of one column. One of the lists is set: that of the column's type. */
struct MetadataColumn {
  1: required string name,
  /** Hive's type: string, int, bigint, timestamp or array<string>. */
  2: required string type,
  3: required string comment,
  /** string; "" for NULL. */
  4: optional list<string> texts,
  /** int, bigint, and timestamp in milliseconds since 1970-01-01 00:00 of the wall clock; 0 for
      NULL. */
  5: optional list<i64> integers,
  /** array<string>. */
  6: optional list<list<string>> textLists,
  /** The rows, counted from 0, in which it is NULL. */
  7: optional list<i32> nulls
}

/** Rows that describe a table. There is no other source of them: without status OK there are none. */
struct MetadataResponse {
  1: required i32 protocolVersion,
  2: required string requestId,
  /** The base path of the request, unchanged. */
  3: required string basePath,
  4: required PruneStatus status,
  /** All columns of the view, in its order; those that were not requested without values. */
  5: optional list<MetadataColumn> columns,
  /** The rows to which the filter was applied, and those that are sent. */
  6: optional i64 rowsConsidered,
  7: optional i64 rowsSent,
  /** Why there are no rows, for the caller's error. */
  8: optional string message
}

struct ServiceInfo {
  1: required i32 protocolVersion,
  2: required string version
}

service PruningService {
  /** Reports which files cannot hold a matching row. Never throws: see the status. */
  PruneResponse prune(1: PruneRequest request),
  /** Returns rows that describe a table. Never throws: see the status. */
  MetadataResponse metadata(1: MetadataRequest request),
  /**
   * Says that a question about the table will follow. The service answers at once, and loads what
   * the question needs in the background: the table, and the evidence about the filter's columns.
   * The status says only whether it would answer this caller; what cannot be loaded is not said.
   */
  PruneStatus announce(1: PruneRequest request),
  /** Reports the version of the service. */
  ServiceInfo info()
}
