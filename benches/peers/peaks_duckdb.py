"""Requests per minute per crawler with DuckDB. Arguments: log, tokens, threads. Prints "name peak"."""

import sys

import duckdb

log, tokens, threads = sys.argv[1:]
db = duckdb.connect()
db.execute(f"SET threads = {int(threads)}")
db.execute("SET preserve_insertion_order = false")
db.execute(
    """
    CREATE TEMP TABLE hit AS
    SELECT name, minute, request, rest FROM (
        SELECT regexp_extract(lower(f[6]), $tokens) AS name,
               substr(f[1], strpos(f[1], '[') + 1, 17) AS minute, f[2] AS request, f[3] AS rest
        FROM (SELECT string_split(line, '"') AS f
              FROM read_csv($log, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = '', escape = '',
                            header = false, auto_detect = false, strict_mode = false, ignore_errors = true))
        WHERE len(f) >= 6)
    WHERE name <> ''
    """,
    {"tokens": tokens, "log": log},
)
db.execute("SELECT split_part(rest, ' ', 2) AS status, count(*) FROM hit GROUP BY 1").fetchall()
db.execute(
    """
    SELECT split_part(request, ' ', 2) AS url, count(*) AS hits FROM hit
    WHERE split_part(rest, ' ', 2) >= '400' GROUP BY 1 ORDER BY 2 DESC LIMIT 20
    """
).fetchall()
peaks = "SELECT name, max(n) FROM (SELECT name, minute, count(*) AS n FROM hit GROUP BY ALL) GROUP BY 1"
for name, peak in db.execute(peaks).fetchall():
    print(name, peak)
