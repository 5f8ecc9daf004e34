"""Tables with virtual keys in Spark: their keys as a column, writing them through Apache Hudi,
rewriting them. What keys are made of is `pyhudi_expr.keys`.
"""
