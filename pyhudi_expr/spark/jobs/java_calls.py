"""Calls into the driver's JVM that py4j does not support directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

#: An object of the JVM, of py4j: its methods are looked up when they are called.
JavaObject: TypeAlias = Any


class NoSuchMemberError(Exception):
    """A class has no field or method of the name."""


def jvm(spark: SparkSession) -> JavaObject:
    """Return the JVM's packages."""
    return spark._jvm


def to_list(stream: JavaObject) -> list[Any]:
    """Return the elements of a Java stream or collection.

    An iteration in Python ends by a Java exception, for which PySpark makes dozens of calls.
    """
    return list(stream.toArray())


def private_field(target: JavaObject, name: str) -> JavaObject:
    """Return the value of a field that is not public."""
    return _declared(target, "getDeclaredFields", name).get(target)


def call_private(
    spark: SparkSession, target: JavaObject, name: str, arguments: Sequence[Any]
) -> JavaObject:
    """Call a method that is not public."""
    method = _declared(target, "getDeclaredMethods", name)
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for index, argument in enumerate(arguments):
        array[index] = argument
    return method.invoke(target, array)


def _declared(target: JavaObject, members: str, name: str) -> JavaObject:
    """Return a member of the object's class, or of the nearest superclass that has it."""
    at = target.getClass()
    while at is not None:
        for member in getattr(at, members)():
            if member.getName() == name and not member.isSynthetic():
                member.setAccessible(True)
                return member
        at = at.getSuperclass()
    raise NoSuchMemberError(name)


def causes(error: JavaObject) -> str:
    """Return the first lines of a Java exception's message and its causes', outermost first."""
    messages: list[str] = []
    while error is not None:
        if error.getMessage():
            messages.append(str(error.getMessage()).strip().partition("\n")[0])
        error = error.getCause()
    return "; ".join(dict.fromkeys(messages))
