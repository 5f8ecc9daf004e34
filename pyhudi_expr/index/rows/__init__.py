"""Which rows of a base file can match, by its row groups, pages, dictionaries and Bloom filters.

Bounds of pages may be truncated, so they are bounds, and no values of the page. A page index that
contradicts itself or the footer (numbers of nulls, rows or pages, places outside the column chunk,
bounds beyond the chunk's) is not used. Damage that leaves it in form cannot be seen: Parquet has no
checksum of it.

The rows of a page are not evaluated one by one (late materialisation). Writers end a page at 20,000
rows. To decode those of four narrow columns takes Hive 8 ms, of one of them 5 ms, and a prototype
here that decoded the predicate's columns and evaluated each row took 2 ms more, so a query of 77 ms
gains 3 to 8 ms at most, and nothing where several pages are left.

What is known of a file takes 55 to 60 KB. In an object store a footer is one request, and page
indexes that do not lie in the last 64 KB are another; those of all files wait at the same time.
"""
