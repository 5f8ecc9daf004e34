#!/bin/sh
# metastore | hiveserver2: with the project's configuration, and what differs in containers.
set -eu
run=/var/lib/hive
conf=$run/conf
mkdir -p "$conf" "$run/tmp"
sed "s|@RUN_DIR@|$run|g; s|@PORT@|10000|g" /opt/hive/conf/hive-site.xml >"$conf/hive-site.xml"
cp /opt/hive/conf/log4j.properties "$conf/"
# To the container's log instead of a file.
sed 's/^appender.file.type.*/appender.file.type = Console/; /fileName/d; /\.append =/d' \
    /opt/hive/conf/hive-log4j2.properties >"$conf/hive-log4j2.properties"

# Makes the metastore's tables where there are none, all at once: as it makes them by itself, one
# request waits for the locks of its own other connection.
create_schema() {
    (
        echo javax.jdo.PersistenceManagerFactoryClass=org.datanucleus.api.jdo.JDOPersistenceManagerFactory
        echo datanucleus.storeManagerType=rdbms
        echo datanucleus.identifierFactory=datanucleus1
        sed -n 's|.*<name>\(.*\)</name><value>\(.*\)</value>.*|\1=\2|p' "$conf/metastore-site.xml"
    ) >"$conf/schema.properties"
    chmod 600 "$conf/schema.properties"
    java @/opt/hive/conf/jvm.options -cp "$conf:$classpath" "-Dpyhudi.run.dir=$run" \
        org.datanucleus.store.schema.SchemaTool -create -api JDO \
        -props "$conf/schema.properties" /opt/hive/conf/package.jdo
    rm "$conf/schema.properties"
}

classpath=/opt/hive/lib/*:/opt/hive/aux/*:/usr/share/java/postgresql.jar
case $1 in
metastore)
    password=$(cat /run/secrets/metastore-password)
    sed "s|@PASSWORD@|$password|" /opt/hive/metastore-site.xml >"$conf/metastore-site.xml"
    chmod 600 "$conf/metastore-site.xml"
    main="org.apache.hadoop.hive.metastore.HiveMetaStore -p 9083"
    [ "${CREATE_SCHEMA:-no}" = no ] || create_schema
    ;;
hiveserver2)
    cp /opt/hive/hiveserver2-site.xml "$conf/"
    main=org.apache.hive.service.server.HiveServer2
    ;;
*)
    exec "$@"
    ;;
esac
export HIVE_CONF_DIR="$conf"
# shellcheck disable=SC2086
exec java "-Xmx${HEAP:-1g}" @/opt/hive/conf/jvm.options "-Dpyhudi.run.dir=$run" \
    "-Djava.io.tmpdir=$run/tmp" "-Dderby.system.home=$run/tmp" \
    "-Dlog4j2.configurationFile=$conf/hive-log4j2.properties" \
    -cp "$conf:$classpath" $main
