# Runs a PostgreSQL server for as long as standard input is open: server.sh BIN PORT PASSWORD [PRIMARY]
#
# With the URL of a primary it is that one's standby, with what is in it now.
# Whoever started this holds the other end of standard input. However that program ends, the end is
# closed then, and the server and its files go. Tells `ready`, or why it is not; then
# obeys `stop`, `start` and `restart`.
set -u
bin=$1 port=$2 password=$3 primary=${4:-}

# An interrupt is for the program that tests; this one follows it through standard input.
trap '' INT TERM HUP
folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-postgres-XXXXXX") || exit 1
printf '%s' "$password" >"$folder/password"

prepare() {
  if [ -n "$primary" ]; then
    "$bin/pg_basebackup" --pgdata="$folder/data" --dbname="$primary" --write-recovery-conf \
      --checkpoint=fast --no-sync >"$folder/log" 2>&1
    return
  fi
  "$bin/initdb" --pgdata="$folder/data" --username=assay --pwfile="$folder/password" \
    --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --no-sync \
    >"$folder/log" 2>&1
}

# control ACTION: without caring for what a crash of the machine would lose.
control() {
  "$bin/pg_ctl" --pgdata="$folder/data" --log="$folder/log" --silent --wait --timeout=60 \
    --mode=fast --options="-p $port -k $folder -c listen_addresses=127.0.0.1 -c fsync=off \
      -c synchronous_commit=off -c full_page_writes=off -c max_connections=500" "$1" \
    >>"$folder/log" 2>&1
}

if prepare && control start; then
  echo ready
  while read -r command; do
    control "$command" && echo ready || cat "$folder/log"
  done
  "$bin/pg_ctl" --pgdata="$folder/data" --silent --wait --mode=immediate stop >/dev/null 2>&1
else
  cat "$folder/log"
fi
rm -rf "$folder"
