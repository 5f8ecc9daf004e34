"""Files of Hadoop's clusters: by WebHDFS, the REST interface of HDFS, or by the native library.

`configuration` reads Hadoop's settings, `name_nodes` and `mount_tables` say what a URI names, and
`backend` reads and writes by `client`, which finds the active NameNode, and `sessions`, which show
Kerberos tickets. `carried_options` are for other machines. `native_library` is about
libhdfs.
"""
