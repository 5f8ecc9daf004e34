"""Files of Hadoop's clusters: by WebHDFS, the REST interface of HDFS, or by the native library.

`configuration` reads Hadoop's settings and finds libhdfs, `name_nodes` say what a URI names, and
`backend` reads and writes by `client`, which finds the active NameNode, and `sessions`, which show
Kerberos tickets.
"""
