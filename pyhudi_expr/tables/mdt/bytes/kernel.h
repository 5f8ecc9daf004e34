/* Functions of the compiled kernel.
 *
 * The one definition of its interface: kernel.c includes this file, and kernel.py gives its text to
 * cffi. So it holds declarations only, without any line for the preprocessor.
 *
 * String i of (data, start, end) is the bytes data[start[i]] to data[end[i] - 1]. Callers allocate
 * every array, and ensure that starts and ends lie within the data.
 */

/* Return the checksum of the source that the library was built from. */
uint32_t kernel_source(void);

/* Parse the cells of HFile blocks that follow one another, at most `capacity`, into the starts and
 * ends of their row keys and values. block_end: where each block ends; the first begins at 0.
 * Return their number; -1 - i if a cell exceeds block i or the capacity. */
int64_t kernel_cells(const uint8_t *data, const int64_t *block_end, int64_t blocks,
                     int32_t has_mvcc, int64_t capacity, int64_t *key_start, int64_t *key_end,
                     int64_t *value_start, int64_t *value_end);

/* Parse `count` entries of an HFile's root index: the offset and size of each block, and where its
 * first row key starts and ends. Return 0; -1 if an entry exceeds the length. */
int64_t kernel_block_index(const uint8_t *data, int64_t length, int64_t count, int64_t *offset,
                           int64_t *size, int64_t *row_start, int64_t *row_end);

/* Find, for each wanted string, the first of the strings, which are sorted by bytes, that is not
 * less than it: its position, or `count`. */
void kernel_lower_bound(const uint8_t *data, const int64_t *start, const int64_t *end,
                        int64_t count, const uint8_t *wanted_data, const int64_t *wanted_start,
                        const int64_t *wanted_end, int64_t wanted_count, int64_t *position);

/* Find, for each prefix, the strings that begin with it: the position of the first one, as
 * `kernel_lower_bound` does, and the one behind the last. The strings are sorted by bytes. */
void kernel_prefix_bounds(const uint8_t *data, const int64_t *start, const int64_t *end,
                          int64_t count, const uint8_t *prefix_data, const int64_t *prefix_start,
                          const int64_t *prefix_end, int64_t prefix_count, int64_t *first,
                          int64_t *behind);

/* Find each wanted string among strings that are sorted by bytes: its position, or -1. */
void kernel_search(const uint8_t *data, const int64_t *start, const int64_t *end, int64_t count,
                   const uint8_t *wanted_data, const int64_t *wanted_start,
                   const int64_t *wanted_end, int64_t wanted_count, int64_t *position);

/* Fill a hash table, zero before, with the positions of strings. Its size is a power of two and
 * larger than the count; its places hold a position + 1, or 0. Return the number of strings that
 * are repeated; of these the first one is in the table. */
int64_t kernel_index(const uint8_t *data, const int64_t *start, const int64_t *end, int64_t count,
                     int64_t *table, int64_t table_size);

/* Look up each wanted string in a table of `kernel_index`: its position, or -1. */
void kernel_find(const uint8_t *data, const int64_t *start, const int64_t *end,
                 const int64_t *table, int64_t table_size, const uint8_t *wanted_data,
                 const int64_t *wanted_start, const int64_t *wanted_end, int64_t wanted_count,
                 int64_t *position);

/* Concatenate strings. Return the number of bytes; -1 if they exceed the capacity. */
int64_t kernel_gather(const uint8_t *data, const int64_t *start, const int64_t *end, int64_t count,
                      uint8_t *target, int64_t capacity);

/* Run a program of mdt/avro_decoding.py for each record.
 *
 * outputs: the array of each slot. capacity and count: for each domain, the number of elements that
 * its slots can hold and that were found; slots are not written beyond their capacity.
 * Return 0, or a negative status and, in failed_row, the record. */
int64_t kernel_avro(const uint8_t *data, const int64_t *start, const int64_t *end, int64_t rows,
                    const int32_t *program, int32_t program_length, int32_t root,
                    void **outputs, const int64_t *capacity, int64_t *count,
                    int64_t *failed_row);
