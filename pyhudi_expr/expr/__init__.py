"""The predicate language: trees, binding, and what statistics prove about them.

The contract of soundness
-------------------------
A predicate over the rows of a container (a file, a file slice, a partition) gives TRUE, FALSE or
NULL for each row, as in SQL. We never see the rows; we see *evidence*: bounds of a column's
values, whether it holds nulls, and the like. From evidence we compute two things for a node:

====================  ==================================================================
``may_be(node, True)``   False only when the evidence proves that no row gives TRUE
``may_be(node, False)``  False only when the evidence proves that no row gives FALSE
====================  ==================================================================

A container may be dropped only when ``may_be(predicate, True)`` is False, because a query keeps
only the rows that give TRUE. Missing evidence answers True to both, so it can only keep files.

NULL needs no question of its own: a comparison with a null operand gives neither TRUE nor FALSE,
and these rules close the two questions under the connectives:

==============  ===============================  ===============================
node            ``may_be(node, True)``           ``may_be(node, False)``
==============  ===============================  ===============================
NOT a           ``may_be(a, False)``             ``may_be(a, True)``
a AND b         both ``may_be(., True)``         either ``may_be(., False)``
a OR b          either ``may_be(., True)``       both ``may_be(., False)``
a = b           the ranges overlap               not both one and the same value
a < b           ``a.lower < b.upper``            ``b.lower <= a.upper``
a <= b          ``a.lower <= b.upper``           ``b.lower < a.upper``
a <=> b         as a = b, or both may be null    as a = b, or one may be null
a IN (...)      an option lies in the range      not one value that is an option
a IS NULL       there may be a null              there may be a value
a LIKE 'x%'     the range meets ``['x', 'y')``   the range leaves ``['x', 'y')``
UNKNOWN         True                             True
==============  ===============================  ===============================

Engines disagree where SQL leaves room, and an answer here is sound for each of them. NaN is above
all floats, or makes every comparison FALSE: a float comparison may be FALSE wherever NaN may be. A
literal of another type stands for every value that it may be rounded, widened, padded or zoned to.
IN may look for bits (zeros) or text (times): NOT IN then excludes nothing.

Functions are bounded by the bounds of their operands (`functions`), so that a comparison of
``year(t)`` or ``x * 2`` is one of ranges as well. Where a container has a single value, as a
partition has, other functions are evaluated for it (`functions.signature.ByValue`): their result is
exact, or not known. CASE, coalesce and their kin are taken apart into
conditions on their results (`rewrites`), and leaves that contradict each other are found when
the predicate is bound (`simplify`).

This is RFC-27's leaf table (section "Predicate filtering"), completed for negation and nulls.

The data flow is ``nodes`` (the predicate) -> ``bind`` (against a schema, literals made exact
intervals of the column's own domain) -> ``evaluate`` (over all containers at once, with the
arrays of ``domains`` and their comparisons).
"""
