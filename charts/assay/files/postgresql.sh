# Starts the PostgreSQL of an evaluation, with one login that owns one database. DATA is its data directory,
# PASSWORD the file with the login's password.
set -eu

if [ ! -d "$DATA" ]; then
  # Initialized in another directory and then moved, so that an interrupted initialization is never used.
  rm -rf "$DATA.new"
  initdb --pgdata="$DATA.new" --username=postgres --encoding=UTF8 --locale=C --auth=reject >/dev/null
  # Only this login is allowed.
  echo "host assay assay all scram-sha-256" >"$DATA.new/pg_hba.conf"
  postgres --single -D "$DATA.new" postgres >/dev/null <<'END'
CREATE ROLE assay LOGIN CREATEROLE
CREATE DATABASE assay OWNER assay
END
  mv "$DATA.new" "$DATA"
fi

# The password is set at each start, because the Secret may have changed.
echo "ALTER ROLE assay PASSWORD '$(cat "$PASSWORD")'" | postgres --single -D "$DATA" postgres >/dev/null
exec postgres -D "$DATA" -c listen_addresses='*' -c unix_socket_directories=/tmp "$@"
