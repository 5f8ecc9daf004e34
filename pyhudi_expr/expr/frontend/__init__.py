"""Read the predicates of engines and programs as `pyhudi_expr.expr` trees.

A frontend never guesses: what has no exact equivalent becomes `Unknown`, and input that violates
its own language raises the frontend's error.
"""
