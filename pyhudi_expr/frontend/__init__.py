"""What engines and people write, as `pyhudi_expr.expr` trees.

A frontend never guesses: what it cannot say exactly becomes `Unknown`, and an input that breaks
its own language is an error of the frontend.
"""
