#!/bin/sh
# PostgreSQL with a database `metastore` of the user `hive`, whose password is a secret.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --auth-local=peer --auth-host=scram-sha-256 --encoding=UTF8 >/dev/null
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    postgres --single -j postgres >/dev/null <<SQL
CREATE USER hive PASSWORD '$(cat /run/secrets/metastore-password)';

CREATE DATABASE metastore OWNER hive;

SQL
fi
exec postgres -c listen_addresses='*' -c fsync="${POSTGRES_FSYNC:-on}"
