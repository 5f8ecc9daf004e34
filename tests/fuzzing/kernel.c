/* The kernel under libFuzzer: cells of HFile blocks, an HFile's root index, and Avro records by a
 * program for records of a metadata table's kind (see mdt/avro_decoding.py for programs).
 *
 *   clang -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined kernel.c KERNEL.c */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../pyhudi_expr/tables/mdt/bytes/kernel.h"

enum { OF_CELLS = 0, OF_INDEX = 1, OF_RECORDS = 2, KINDS = 3 };

/* The least bytes of a cell and of an entry of an index. */
enum { CELL = 10, ENTRY = 13 };

static int64_t *numbers(int64_t count) {
    return calloc((size_t)(count > 0 ? count : 1), sizeof(int64_t));
}

static void check(int holds) {
    if (!holds) {
        abort();
    }
}

/* What the kernel has found lies within the data. */
static void check_ranges(const int64_t *start, const int64_t *end, int64_t count, int64_t size) {
    for (int64_t i = 0; i < count; i++) {
        check(0 <= start[i] && start[i] <= end[i] && end[i] <= size);
    }
}

static void cells(const uint8_t *data, int64_t size) {
    int64_t ends[2] = {size / 2, size}, capacity = size / CELL + 1;
    int64_t *found[4];
    for (int i = 0; i < 4; i++) {
        found[i] = numbers(capacity);
    }
    int64_t count =
        kernel_cells(data, ends, 2, size % 2, capacity, found[0], found[1], found[2], found[3]);
    check(-2 <= count && count <= capacity);
    check_ranges(found[0], found[1], count, size);
    check_ranges(found[2], found[3], count, size);
    for (int i = 0; i < 4; i++) {
        free(found[i]);
    }
}

static void block_index(const uint8_t *data, int64_t size) {
    int64_t count = size / ENTRY;
    int64_t *found[4];
    for (int i = 0; i < 4; i++) {
        found[i] = numbers(count);
    }
    if (!kernel_block_index(data, size, count, found[0], found[1], found[2], found[3])) {
        check_ranges(found[2], found[3], count, size);
    }
    for (int i = 0; i < 4; i++) {
        free(found[i]);
    }
}

/* A record of a boolean, a map of texts to unions of null, long, double and fixed, and an array of
 * floats: each operation, in two domains. */
enum { SLOTS = 12, NODES = 46 };
static const int32_t program[NODES] = {
    /*  0 */ 0,                  /* null */
    /*  1 */ 2, 6,               /* long */
    /*  3 */ 4, 7,               /* double */
    /*  5 */ 6, 8, 4,            /* fixed */
    /*  8 */ 8, 5, 4, 0, 1, 3, 5, /* union */
    /* 15 */ 10, 1, 2, 3, 8,     /* map: domain, parent, key (and 4), value */
    /* 20 */ 3, -1,              /* float that nobody wants */
    /* 22 */ 9, -1, -1, 20,      /* array */
    /* 26 */ 1, 0,               /* boolean */
    /* 28 */ 5, -1,              /* bytes that nobody wants */
    /* 30 */ 3, 1,               /* float */
    /* 32 */ 5, 10,              /* bytes (and 11) */
    /* 34 */ 7, 6, 26, 15, 22, 28, 30, 32, /* record */
    /* 42 */ 7, 2, 34, 0,        /* record of it: the root */
};
static const int root = 42, of_records[] = {0, 1, 10, 11};

static int is_of_records(int slot) {
    for (size_t i = 0; i < sizeof of_records / sizeof *of_records; i++) {
        if (of_records[i] == slot) {
            return 1;
        }
    }
    return 0;
}

static int64_t decoded(const uint8_t *data, const int64_t *start, const int64_t *end, int64_t rows,
                       int64_t entries, int64_t *count, int64_t size) {
    void *slots[SLOTS];
    int64_t capacity[2] = {rows, entries}, failed = -1;
    for (int slot = 0; slot < SLOTS; slot++) {
        slots[slot] = numbers(is_of_records(slot) ? rows : entries);
    }
    count[0] = rows;
    count[1] = 0;
    int64_t status = kernel_avro(data, start, end, rows, program, NODES, root, slots, capacity,
                                 count, &failed);
    check(status ? 0 <= failed && failed < rows : count[1] <= size);
    if (!status && entries >= count[1]) {
        check_ranges(slots[3], slots[4], count[1], size);
        check_ranges(slots[10], slots[11], rows, size);
    }
    for (int slot = 0; slot < SLOTS; slot++) {
        free(slots[slot]);
    }
    return status;
}

static void records(const uint8_t *data, int64_t size) {
    int64_t start[2] = {0, size / 2}, end[2] = {size / 2, size}, count[2];
    /* The number of entries is known after the first run. */
    if (!decoded(data, start, end, 2, 0, count, size)) {
        int64_t entries = count[1];
        check(!decoded(data, start, end, 2, entries, count, size) && count[1] == entries);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) {
        return 0;
    }
    /* A copy of its own size, so that reading behind it is seen. */
    int64_t length = (int64_t)size - 1;
    uint8_t *content = malloc(size > 1 ? size - 1 : 1);
    memcpy(content, data + 1, size - 1);
    switch (data[0] % KINDS) {
    case OF_CELLS:
        cells(content, length);
        break;
    case OF_INDEX:
        block_index(content, length);
        break;
    default:
        records(content, length);
    }
    free(content);
    return 0;
}
