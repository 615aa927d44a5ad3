"""Requests per minute per crawler, statuses and error URLs with DuckDB.

Arguments: log (plain or .gz), tokens, threads. Prints what benches/peers/answers prints.
"""

import sys

import duckdb

log, tokens, threads = sys.argv[1:]
db = duckdb.connect()
db.execute(f"SET threads = {int(threads)}")
db.execute("SET preserve_insertion_order = false")
db.execute(
    """
    CREATE TEMP TABLE hit AS
    SELECT name, minute, split_part(request, ' ', 2) AS url, split_part(rest, ' ', 2) AS status FROM (
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
queries = {
    "peak": "SELECT name, max(n) FROM (SELECT name, minute, count(*) AS n FROM hit GROUP BY ALL) GROUP BY 1",
    "status": "SELECT status, count(*) FROM hit GROUP BY 1",
    "waste": "SELECT count(*), url FROM hit WHERE status >= '400' GROUP BY url ORDER BY 1 DESC LIMIT 20",
}
for word, query in queries.items():
    for row in db.execute(query).fetchall():
        print(word, *row)
