/* The loops over the metadata table's bytes that Python would run once for each cell.
 *
 * Plain C over buffers that the caller allocates; kernel.h has the contract of each function. Every
 * length and offset comes from a file that may be damaged: each is compared with what is left
 * before it is used, and no sum of two of them can overflow, because both are known to lie within
 * one buffer by then.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Only what the header declares can be called from outside. */
#pragma GCC visibility push(default)
#include "kernel.h"
#pragma GCC visibility pop

#ifdef __GNUC__
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

/* The build gives the checksum of this file and the header (`hatch_build.py`). */
uint32_t kernel_source(void) { return KERNEL_SOURCE; }

/* ---- HFile data blocks ---- */

enum { CELL_FRAME = 8, ROW_LENGTH = 2, ENTRY_FRAME = 12 };

static int32_t big_endian_32(const uint8_t *at) {
    return (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}

static int64_t big_endian_16(const uint8_t *at) {
    return (int64_t)at[0] << 8 | at[1];
}

/* Length of one of Hadoop's variable-length numbers, by its first byte: 1 to 9. */
static int64_t vint_length(uint8_t first) {
    int32_t value = first > 127 ? (int32_t)first - 256 : (int32_t)first;
    if (value >= -112) {
        return 1;
    }
    return (value < -120 ? -119 : -111) - value;
}

/* Parse the cells of one block, from `count` on; return the new count, or -1. */
static int64_t cells_of_block(const uint8_t *data, int64_t at, int64_t end, int32_t has_mvcc,
                              int64_t count, int64_t capacity, int64_t *key_start,
                              int64_t *key_end, int64_t *value_start, int64_t *value_end) {
    while (at < end) {
        int64_t left = end - at;
        if (left < CELL_FRAME + ROW_LENGTH || count == capacity) {
            return -1;
        }
        int64_t key_length = big_endian_32(data + at);
        int64_t value_length = big_endian_32(data + at + 4);
        int64_t row_length = big_endian_16(data + at + 8);
        left -= CELL_FRAME;
        if (key_length < row_length + ROW_LENGTH || value_length < 0 ||
            key_length + value_length > left) {
            return -1;
        }
        at += CELL_FRAME;
        key_start[count] = at + ROW_LENGTH;
        key_end[count] = at + ROW_LENGTH + row_length;
        at += key_length;
        value_start[count] = at;
        at += value_length;
        value_end[count] = at;
        count++;
        if (has_mvcc) {
            if (at >= end) {
                return -1;
            }
            at += vint_length(data[at]);
            if (at > end) {
                return -1;
            }
        }
    }
    return count;
}

int64_t kernel_cells(const uint8_t *data, const int64_t *block_end, int64_t blocks,
                     int32_t has_mvcc, int64_t capacity, int64_t *key_start, int64_t *key_end,
                     int64_t *value_start, int64_t *value_end) {
    int64_t count = 0, at = 0;
    for (int64_t block = 0; block < blocks; block++) {
        count = cells_of_block(data, at, block_end[block], has_mvcc, count, capacity, key_start,
                               key_end, value_start, value_end);
        if (count < 0) {
            return -1 - block;
        }
        at = block_end[block];
    }
    return count;
}

/* Read a variable-length number that is not negative, and move `at` behind it; -1 if it is. */
static int64_t length_at(const uint8_t *data, int64_t end, int64_t *at) {
    if (*at >= end) {
        return -1;
    }
    int64_t width = vint_length(data[*at]);
    if (width == 1) {
        int64_t value = data[*at] > 127 ? -1 : data[*at];
        *at += 1;
        return value;
    }
    if (width > end - *at || (int8_t)data[*at] < -120) {
        return -1;
    }
    uint64_t value = 0;
    for (int64_t i = 1; i < width; i++) {
        value = value << 8 | data[*at + i];
    }
    *at += width;
    return value <= (uint64_t)end ? (int64_t)value : -1;
}

int64_t kernel_block_index(const uint8_t *data, int64_t length, int64_t count, int64_t *offset,
                           int64_t *size, int64_t *row_start, int64_t *row_end) {
    int64_t at = 0;
    for (int64_t entry = 0; entry < count; entry++) {
        if (length - at < ENTRY_FRAME) {
            return -1;
        }
        offset[entry] = (int64_t)((uint64_t)(uint32_t)big_endian_32(data + at) << 32 |
                                  (uint32_t)big_endian_32(data + at + 4));
        size[entry] = big_endian_32(data + at + 8);
        at += ENTRY_FRAME;
        int64_t key_length = length_at(data, length, &at);
        if (key_length < ROW_LENGTH || key_length > length - at) {
            return -1;
        }
        int64_t row_length = big_endian_16(data + at);
        if (row_length > key_length - ROW_LENGTH) {
            return -1;
        }
        row_start[entry] = at + ROW_LENGTH;
        row_end[entry] = at + ROW_LENGTH + row_length;
        at += key_length;
    }
    return 0;
}

/* ---- keys ---- */

static int compare(const uint8_t *left, int64_t left_length, const uint8_t *right,
                   int64_t right_length) {
    int64_t shorter = left_length < right_length ? left_length : right_length;
    int order = shorter ? memcmp(left, right, (size_t)shorter) : 0;
    if (order) {
        return order;
    }
    return (left_length > right_length) - (left_length < right_length);
}

/* Return the position of the first string that is not less than the key. */
static int64_t lower_bound(const uint8_t *data, const int64_t *start, const int64_t *end,
                           int64_t count, const uint8_t *key, int64_t length) {
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (compare(data + start[middle], end[middle] - start[middle], key, length) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void kernel_lower_bound(const uint8_t *data, const int64_t *start, const int64_t *end,
                        int64_t count, const uint8_t *wanted_data, const int64_t *wanted_start,
                        const int64_t *wanted_end, int64_t wanted_count, int64_t *position) {
    for (int64_t i = 0; i < wanted_count; i++) {
        position[i] = lower_bound(data, start, end, count, wanted_data + wanted_start[i],
                                  wanted_end[i] - wanted_start[i]);
    }
}

/* Return the position behind the strings that begin with the prefix; the first is at `low`. */
static int64_t behind_prefix(const uint8_t *data, const int64_t *start, const int64_t *end,
                             int64_t low, int64_t count, const uint8_t *prefix, int64_t length) {
    int64_t high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int begins = end[middle] - start[middle] >= length &&
                     (!length || memcmp(data + start[middle], prefix, (size_t)length) == 0);
        if (begins) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void kernel_prefix_bounds(const uint8_t *data, const int64_t *start, const int64_t *end,
                          int64_t count, const uint8_t *prefix_data, const int64_t *prefix_start,
                          const int64_t *prefix_end, int64_t prefix_count, int64_t *first,
                          int64_t *behind) {
    for (int64_t i = 0; i < prefix_count; i++) {
        const uint8_t *prefix = prefix_data + prefix_start[i];
        int64_t length = prefix_end[i] - prefix_start[i];
        first[i] = lower_bound(data, start, end, count, prefix, length);
        behind[i] = behind_prefix(data, start, end, first[i], count, prefix, length);
    }
}

void kernel_search(const uint8_t *data, const int64_t *start, const int64_t *end, int64_t count,
                   const uint8_t *wanted_data, const int64_t *wanted_start,
                   const int64_t *wanted_end, int64_t wanted_count, int64_t *position) {
    for (int64_t i = 0; i < wanted_count; i++) {
        const uint8_t *key = wanted_data + wanted_start[i];
        int64_t length = wanted_end[i] - wanted_start[i];
        int64_t low = lower_bound(data, start, end, count, key, length);
        int equal = low < count &&
                    compare(data + start[low], end[low] - start[low], key, length) == 0;
        position[i] = equal ? low : -1;
    }
}

static uint64_t hash(const uint8_t *at, int64_t length) {
    uint64_t hashed = 0x9e3779b97f4a7c15u ^ (uint64_t)length;
    while (length > 0) {
        uint64_t word = 0;
        size_t width = length < 8 ? (size_t)length : 8;
        memcpy(&word, at, width);
        hashed = (hashed ^ word) * 0xff51afd7ed558ccdu;
        hashed ^= hashed >> 32;
        at += width;
        length -= (int64_t)width;
    }
    return hashed;
}

static int is_same(const uint8_t *left, int64_t left_length, const uint8_t *right,
                   int64_t right_length) {
    return left_length == right_length &&
           (!left_length || memcmp(left, right, (size_t)left_length) == 0);
}

int64_t kernel_index(const uint8_t *data, const int64_t *start, const int64_t *end, int64_t count,
                     int64_t *table, int64_t table_size) {
    uint64_t mask = (uint64_t)table_size - 1;
    int64_t repeated = 0;
    for (int64_t row = 0; row < count; row++) {
        const uint8_t *key = data + start[row];
        int64_t length = end[row] - start[row];
        uint64_t place = hash(key, length) & mask;
        int known = 0;
        while (table[place] && !known) {
            int64_t other = table[place] - 1;
            known = is_same(data + start[other], end[other] - start[other], key, length);
            place = (place + 1) & mask;
        }
        if (known) {
            repeated++;
        } else {
            table[place] = row + 1;
        }
    }
    return repeated;
}

/* Each step of a look-up is a cache miss. Strings are looked up in batches of this size, so that
 * the misses of a batch overlap. */
enum { BATCH = 32 };

void kernel_find(const uint8_t *data, const int64_t *start, const int64_t *end,
                 const int64_t *table, int64_t table_size, const uint8_t *wanted_data,
                 const int64_t *wanted_start, const int64_t *wanted_end, int64_t wanted_count,
                 int64_t *position) {
    uint64_t mask = (uint64_t)table_size - 1, places[BATCH];
    for (int64_t first = 0; first < wanted_count; first += BATCH) {
        int64_t left = wanted_count - first;
        int64_t count = left < BATCH ? left : BATCH;
        for (int64_t i = 0; i < count; i++) {
            int64_t at = wanted_start[first + i];
            places[i] = hash(wanted_data + at, wanted_end[first + i] - at) & mask;
            PREFETCH(table + places[i]);
        }
        for (int64_t i = 0; i < count; i++) {
            if (table[places[i]]) {
                PREFETCH(start + table[places[i]] - 1);
            }
        }
        for (int64_t i = 0; i < count; i++) {
            if (table[places[i]]) {
                PREFETCH(data + start[table[places[i]] - 1]);
            }
        }
        for (int64_t i = 0; i < count; i++) {
            const uint8_t *key = wanted_data + wanted_start[first + i];
            int64_t length = wanted_end[first + i] - wanted_start[first + i];
            uint64_t place = places[i];
            position[first + i] = -1;
            while (table[place]) {
                int64_t row = table[place] - 1;
                if (is_same(data + start[row], end[row] - start[row], key, length)) {
                    position[first + i] = row;
                    break;
                }
                place = (place + 1) & mask;
            }
        }
    }
}

int64_t kernel_gather(const uint8_t *data, const int64_t *start, const int64_t *end, int64_t count,
                      uint8_t *target, int64_t capacity) {
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t length = end[i] - start[i];
        if (length < 0 || length > capacity - at) {
            return -1;
        }
        if (length) {
            memcpy(target + at, data + start[i], (size_t)length);
        }
        at += length;
    }
    return at;
}

/* ---- Avro ---- */

/* A program is nodes of 32-bit integers: an operation, then what the comment says. */
enum operation {
    OP_NULL,    /* */
    OP_BOOLEAN, /* slot: uint8 */
    OP_LONG,    /* slot: int64 */
    OP_FLOAT,   /* slot: double */
    OP_DOUBLE,  /* slot: double */
    OP_BYTES,   /* slot: int64 start, slot + 1: int64 end */
    OP_FIXED,   /* slot and slot + 1 as for bytes, size */
    OP_RECORD,  /* n, n nodes */
    OP_UNION,   /* slot: uint8 branch + 1, n, n nodes */
    OP_ARRAY,   /* domain, slot: int64 row of the parent, node */
    OP_MAP,     /* domain, slot: int64 row of the parent, slots of the key as for bytes, node */
};

enum status { DONE = 0, TRUNCATED = -1, TOO_LONG = -2, BAD_BRANCH = -3, NEGATIVE = -4,
              UNFINISHED = -5, BAD_PROGRAM = -6 };

enum { MAX_VARINT_BITS = 63, MAX_DEPTH = 64 };

typedef struct {
    const uint8_t *data;
    int64_t at;
    int64_t end;
    const int32_t *program;
    int32_t program_length;
    void **outputs;
    const int64_t *capacity;
    int64_t *count;
} Decoder;

static int read_long(Decoder *decoder, int64_t *value) {
    uint64_t bits = 0;
    for (int shift = 0; shift <= MAX_VARINT_BITS; shift += 7) {
        if (decoder->at >= decoder->end) {
            return TRUNCATED;
        }
        uint8_t byte = decoder->data[decoder->at++];
        if (shift == MAX_VARINT_BITS && byte > 1) {
            return TOO_LONG;
        }
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            return DONE;
        }
    }
    return TOO_LONG;
}

static int skip(Decoder *decoder, int64_t length) {
    if (length < 0) {
        return NEGATIVE;
    }
    if (length > decoder->end - decoder->at) {
        return TRUNCATED;
    }
    decoder->at += length;
    return DONE;
}

/* Where the row of a slot is to be written, or NULL where nobody wants it. */
static void *place(const Decoder *decoder, int32_t slot, int64_t row, size_t width) {
    if (slot < 0 || row < 0 || !decoder->outputs[slot]) {
        return NULL;
    }
    return (uint8_t *)decoder->outputs[slot] + (size_t)row * width;
}

static void put_long(const Decoder *decoder, int32_t slot, int64_t row, int64_t value) {
    int64_t *target = place(decoder, slot, row, sizeof value);
    if (target) {
        *target = value;
    }
}

static void put_double(const Decoder *decoder, int32_t slot, int64_t row, double value) {
    double *target = place(decoder, slot, row, sizeof value);
    if (target) {
        *target = value;
    }
}

static void put_byte(const Decoder *decoder, int32_t slot, int64_t row, uint8_t value) {
    uint8_t *target = place(decoder, slot, row, sizeof value);
    if (target) {
        *target = value;
    }
}

static int read_bytes(Decoder *decoder, int32_t slot, int64_t row, int64_t length) {
    int64_t start = decoder->at;
    int status = skip(decoder, length);
    if (status == DONE && slot >= 0) {
        put_long(decoder, slot, row, start);
        put_long(decoder, slot + 1, row, decoder->at);
    }
    return status;
}

static uint64_t little_endian(const uint8_t *at, int width) {
    uint64_t bits = 0;
    for (int i = 0; i < width; i++) {
        bits |= (uint64_t)at[i] << (8 * i);
    }
    return bits;
}

static int run(Decoder *decoder, int32_t node, int64_t row, int depth);

/* Blocks of items, the last one of none; a negative count is followed by the block's bytes. */
static int read_items(Decoder *decoder, const int32_t *code, int is_map, int64_t row, int depth) {
    int32_t domain = code[1], parent = code[2];
    int32_t item = is_map ? code[4] : code[3];
    for (;;) {
        int64_t items, size;
        int status = read_long(decoder, &items);
        if (status != DONE) {
            return status;
        }
        if (items < 0) {
            if (items == INT64_MIN) {
                return NEGATIVE;
            }
            items = -items;
            status = read_long(decoder, &size);
            if (status != DONE) {
                return status;
            }
        }
        if (!items) {
            return DONE;
        }
        for (int64_t i = 0; i < items; i++) {
            int64_t start = decoder->at, own = -1, length;
            if (domain >= 0) {
                own = decoder->count[domain]++;
                if (own >= decoder->capacity[domain]) {
                    own = -1;
                }
                put_long(decoder, parent, own, row);
            }
            if (is_map) {
                status = read_long(decoder, &length);
                if (status == DONE) {
                    status = read_bytes(decoder, code[3], own, length);
                }
            }
            if (status == DONE) {
                status = run(decoder, item, own, depth + 1);
            }
            if (status != DONE) {
                return status;
            }
            /* Items without a byte could be any number of them. */
            if (decoder->at == start) {
                return TRUNCATED;
            }
        }
    }
}

static int run(Decoder *decoder, int32_t node, int64_t row, int depth) {
    if (node < 0 || node >= decoder->program_length || depth > MAX_DEPTH) {
        return BAD_PROGRAM;
    }
    const int32_t *code = decoder->program + node;
    int64_t number;
    int status;
    switch (code[0]) {
    case OP_NULL:
        return DONE;
    case OP_BOOLEAN:
        status = skip(decoder, 1);
        if (status == DONE) {
            put_byte(decoder, code[1], row, decoder->data[decoder->at - 1] != 0);
        }
        return status;
    case OP_LONG:
        status = read_long(decoder, &number);
        if (status == DONE) {
            put_long(decoder, code[1], row, number);
        }
        return status;
    case OP_FLOAT:
        status = skip(decoder, 4);
        if (status == DONE) {
            uint32_t bits = (uint32_t)little_endian(decoder->data + decoder->at - 4, 4);
            float value;
            memcpy(&value, &bits, sizeof value);
            put_double(decoder, code[1], row, (double)value);
        }
        return status;
    case OP_DOUBLE:
        status = skip(decoder, 8);
        if (status == DONE) {
            uint64_t bits = little_endian(decoder->data + decoder->at - 8, 8);
            double value;
            memcpy(&value, &bits, sizeof value);
            put_double(decoder, code[1], row, value);
        }
        return status;
    case OP_BYTES:
        status = read_long(decoder, &number);
        return status == DONE ? read_bytes(decoder, code[1], row, number) : status;
    case OP_FIXED:
        return read_bytes(decoder, code[1], row, code[2]);
    case OP_RECORD:
        for (int32_t field = 0; field < code[1]; field++) {
            status = run(decoder, code[2 + field], row, depth + 1);
            if (status != DONE) {
                return status;
            }
        }
        return DONE;
    case OP_UNION:
        status = read_long(decoder, &number);
        if (status != DONE) {
            return status;
        }
        if (number < 0 || number >= code[2]) {
            return BAD_BRANCH;
        }
        put_byte(decoder, code[1], row, (uint8_t)(number + 1));
        return run(decoder, code[3 + number], row, depth + 1);
    case OP_ARRAY:
        return read_items(decoder, code, 0, row, depth);
    case OP_MAP:
        return read_items(decoder, code, 1, row, depth);
    default:
        return BAD_PROGRAM;
    }
}

int64_t kernel_avro(const uint8_t *data, const int64_t *start, const int64_t *end, int64_t rows,
                    const int32_t *program, int32_t program_length, int32_t root,
                    void **outputs, const int64_t *capacity, int64_t *count, int64_t *failed_row) {
    Decoder decoder = {data, 0, 0, program, program_length, outputs, capacity, count};
    for (int64_t row = 0; row < rows; row++) {
        decoder.at = start[row];
        decoder.end = end[row];
        int status = run(&decoder, root, row, 0);
        if (status == DONE && decoder.at != decoder.end) {
            status = UNFINISHED;
        }
        if (status != DONE) {
            *failed_row = row;
            return status;
        }
    }
    return DONE;
}
