"""Attach this process to the JVM of the Spark session that has started it."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession


def attach() -> tuple[SparkSession, Any]:
    """Return the session, and the JVM's object that takes the statement's rows.

    The address of the JVM and its secret are in the environment, as for every driver in Python.
    """
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    statement = gateway.entry_point
    java_context = statement.context()
    settings = SparkConf(_jconf=java_context.getConf())
    context = SparkContext(gateway=gateway, jsc=java_context, conf=settings)
    # A first session would become the JVM's default, which is the application's business.
    session = SparkSession.__new__(SparkSession)
    session._sc = context
    SparkSession._instantiatedSession = session
    session.__init__(context, statement.session())  # type: ignore[misc] # once, and here
    return session, statement


def end_with_parent() -> None:
    """End this process when the JVM ends: its pipe to standard input is closed then."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)
