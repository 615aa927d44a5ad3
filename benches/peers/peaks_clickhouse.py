"""Requests per minute per crawler, statuses and error URLs with ClickHouse: in this process through chdb, or with
`--print` as SQL on standard output for `clickhouse local`.

Arguments: log (plain or .gz), tokens, threads. Prints what benches/peers/answers prints.
The form is the fastest of those that were tried (a look for the names in the whole line first, `extract` with a
regular expression, with and without case, this one).
"""

import sys


def statements(log: str, tokens: str, threads: str) -> list[str]:
    names = "[" + ",".join(f"'{name}'" for name in tokens.replace("\\", "").split("|")) + "]"
    create = f"""
        CREATE TABLE hit ENGINE = Memory AS
        SELECT {names}[multiSearchFirstIndexCaseInsensitive(f[6], {names})] AS name,
               substring(f[1], position(f[1], '[') + 1, 17) AS minute,
               splitByChar(' ', f[3])[2] AS status, splitByChar(' ', f[2])[2] AS url
        FROM (SELECT splitByChar('"', line) AS f FROM file('{log}', 'LineAsString', 'line String'))
        WHERE name <> '' SETTINGS max_threads = {int(threads)}"""
    queries = [
        "SELECT 'peak', name, max(n) FROM (SELECT name, minute, count() AS n FROM hit GROUP BY ALL) GROUP BY name",
        "SELECT 'status', status, count() FROM hit GROUP BY status",
        "SELECT 'waste', count() AS n, url FROM hit WHERE status >= '400' GROUP BY url ORDER BY n DESC LIMIT 20",
    ]
    return [create] + [f"{query} FORMAT TSV" for query in queries]


if sys.argv[-1] == "--print":
    print(";\n".join(statements(*sys.argv[1:4])) + ";")
else:
    from chdb.session import Session

    session = Session()
    for statement in statements(*sys.argv[1:]):
        sys.stdout.write(str(session.query(statement, "TSV")))
