"""HDFS as child processes: with one NameNode (`one`), or two, one of them active (`pair`)."""

from devtools.hdfs.one import Hdfs, running_hdfs
from devtools.hdfs.pair import HdfsPair, running_pair

__all__ = ["Hdfs", "HdfsPair", "running_hdfs", "running_pair"]
