"""Runs every query of README.md's cookbook with DuckDB against a history that was just written.

cookbook.py README.md EXPECTED.json, in the folder that holds crawl-artifacts. Every query must give rows; those whose answer follows
from the logs must give it.
"""
import json
import re
import sys

import duckdb

text = open(sys.argv[1], encoding="utf-8").read()
expected = json.load(open(sys.argv[2], encoding="utf-8"))
section = text.split("## Query cookbook", 1)[1].split("\n## ", 1)[0]
statements = [s.strip() for block in re.findall(r"```sql\n(.*?)```", section, re.S) for s in block.split(";") if s.strip()]
by_bot = expected["by_bot"]


def near(a, b):
    return abs(a - b) < 1e-9


def peak(rows):
    google = next(r for r in rows if (r["host"], r["bot"]) == ("www.example.com", "Googlebot"))
    # 24 in the busiest minute, and one of the steady ones: 23100 is a multiple of 150.
    return google["peak"] == 25 and str(google["peak_minute"]).startswith("2026-02-24 06:25:00")


def waste(rows):
    hits = [r["hits"] for r in rows]
    grows = rows[0]["growth"] is None and all(near(rows[i]["growth"], hits[i] / hits[i - 1] - 1) for i in range(1, len(hits)))
    return {str(r["week"])[:10]: r["hits"] for r in rows} == expected["waste"] and grows


def column(key, value):
    return lambda rows: {r[key]: r[value] for r in rows}


CHECKS = {
    "Peak requests per minute": peak,
    "Peak hour": lambda rows: column("bot", "peak_hour")(rows)["GPTBot"] in (16, 17) and column("bot", "peak_hour")(rows)["Googlebot"] == 3,
    "429 trend": lambda rows: {str(r["date"]): r["refused"] for r in rows} == expected["refused"],
    "Waste growth": waste,
    "Share of Googlebot": lambda rows: near(rows[0]["verified"], 1 - expected["spoofed"] / by_bot["Googlebot"]) and rows[0]["requests"] == by_bot["Googlebot"],
    "Spoofed share": lambda rows: [(r["bot"], r["spoofed"]) for r in rows] == [("Googlebot", expected["spoofed"])],
    "Networks that spoof": lambda rows: [(r["network"], r["requests"]) for r in rows] == [("203.0.113.0/24", expected["spoofed"])],
    "Ceilings over time": lambda rows: len({r["date"] for r in rows}) >= 2 and all(r["max_requests_per_minute"] > 0 and r["bound_by"] for r in rows),
    "Busiest second": lambda rows: (rows[0]["bot"], rows[0]["requests"]) == ("Googlebot", 5),
    # Bounds are exact to 16 ms, then an eighth of a doubling wide.
    "Latency p95": lambda rows: column("bot", "latency_ms_p95")(rows)["Bingbot"] == 8 and column("bot", "latency_ms_p95")(rows)["GPTBot"] == 15 and sum(r["requests"] for r in rows) == expected["requests"],
    "304 share": lambda rows: near(column("bot", "not_modified")(rows)["Googlebot"], 144 * expected["days"] / by_bot["Googlebot"]),
    "Top waste URLs": lambda rows: any(r["url_key"].startswith("/old") and r["hits"] == sum(expected["waste"].values()) - sum(expected["refused"].values()) for r in rows),
    # The only query string that bots send, every time answered 404: one value, nothing sampled.
    "Parameters under which": lambda rows: [(r["host"], r["parameter"], r["hits"], r["values_a_day"], r["one_in"]) for r in rows] == [("www.example.com", "id", sum(expected["waste"].values()) - sum(expected["refused"].values()), 1, 1)],
    "Crawl by category": lambda rows: column("category", "requests")(rows) == {"search-engine": by_bot["Googlebot"] + by_bot["Bingbot"], "ai-training": by_bot["GPTBot"]},
    "Answers by status": lambda rows: (sum(r["requests"] for r in rows), sum(r["bytes"] for r in rows)) == (expected["requests"], expected["bytes"]),
    "What was read": lambda rows: len(rows) == expected["logs"] and all(r["adds_up"] for r in rows) and sum(r["records"] for r in rows) == expected["requests"],
    "The bots' share": lambda rows: len(rows) == expected["days"] and sum(r["requests"] for r in rows) == expected["requests"],
}

connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
asked, unchecked, failed = 0, set(CHECKS), []
for statement in statements:
    if statement.upper().startswith("CREATE VIEW"):
        connection.execute(statement)
        continue
    title = statement.splitlines()[0].lstrip("- ")
    answer = connection.execute(statement)
    names = [c[0] for c in answer.description]
    rows = [dict(zip(names, row)) for row in answer.fetchall()]
    asked += 1
    check = next((key for key in CHECKS if title.startswith(key)), None)
    unchecked.discard(check)
    if not rows:
        failed.append(f"{title}: no row")
    elif check is None:
        failed.append(f"{title}: nothing in cookbook.py knows its answer")
    elif not CHECKS[check](rows):
        failed.append(f"{title}: another answer: {rows[:5]}")
failed += [f"{key}: README.md has no such query" for key in sorted(unchecked)]
print("\n".join(failed + [f"{asked} queries of the cookbook with DuckDB {duckdb.__version__}"]))
sys.exit(1 if failed or asked < 10 else 0)
