"""Opens every table of a history with one program and compares rows, requests and bytes with what the baseline JSON says.

tables.py PROGRAM HISTORY BASELINE.json, with PROGRAM one of duckdb, pyarrow, polars, pandas, spark. A table is a folder of the history,
whatever it is called; the sums below are checked of those that have them.
"""
import importlib
import json
import pathlib
import sys

PROGRAM, HISTORY, BASELINE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), json.load(open(sys.argv[3], encoding="utf-8"))
TABLES = sorted(p.name for p in HISTORY.iterdir() if p.is_dir() and any(p.glob("date=*/*.parquet")))
SUMS = {
    "minutes": ["requests", "bytes_sum", "requests_304", "requests_429"],
    "status": ["requests", "bytes_sum"],
    "waste": ["hits"],
    "latency": ["requests"],
    "sources": ["lines", "records"],
}


def of_duckdb(table):
    import duckdb

    files = f"read_parquet('{HISTORY / table}/*/*.parquet', hive_partitioning = true)"
    sums = ", ".join(["count(*)", "count(DISTINCT date)"] + [f"sum({c})" for c in SUMS.get(table, [])])
    rows, dates, *figures = duckdb.sql(f"SELECT {sums} FROM {files}").fetchall()[0]
    duckdb.sql(f"SELECT * FROM {files}").fetchall()
    return rows, dates, figures


def of_pyarrow(table):
    import pyarrow.compute as compute
    import pyarrow.dataset as dataset

    data = dataset.dataset(HISTORY / table, partitioning="hive").to_table()
    dates = len(data.column("date").unique())
    return data.num_rows, dates, [compute.sum(data.column(c)).as_py() for c in SUMS.get(table, [])]


def of_polars(table):
    import polars

    data = polars.scan_parquet(f"{HISTORY / table}/*/*.parquet", hive_partitioning=True).collect()
    return data.height, data["date"].n_unique(), [data[c].sum() for c in SUMS.get(table, [])]


def of_pandas(table):
    import pandas

    data = pandas.read_parquet(HISTORY / table)
    return len(data), data["date"].nunique(), [int(data[c].sum()) for c in SUMS.get(table, [])]


def of_spark(table):
    from pyspark.sql import functions

    data = spark().read.parquet(str(HISTORY / table))
    data.foreach(lambda row: None)  # every column of every row, not only those that are summed
    columns = [functions.count("*"), functions.countDistinct("date")] + [functions.sum(c) for c in SUMS.get(table, [])]
    rows, dates, *figures = data.agg(*columns).collect()[0]
    return rows, dates, figures


def spark():
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def expected():
    """The figures of SUMS and the dates, from the baseline."""
    hosts, totals = BASELINE["hosts"].values(), BASELINE["totals"]
    bots = [bot for host in hosts for bot in host["bots"].values()]  # with --include-other: everybody

    def status(code):
        return sum(host["status"].get(code, 0) for host in hosts)

    return {
        "minutes": [totals["records"], totals["bytes_sum"], status("304"), status("429")],
        "status": [sum(sum(host["status"].values()) for host in hosts), totals["bytes_sum"]],
        "waste": [sum(n for host in hosts for code, n in host["status"].items() if code[0] in "45")],
        "latency": [sum(bot["latency_ms"]["count"] for bot in bots)],
        "sources": [totals["lines"], totals["records"]],
    }


want, failed = expected(), []
missing = set(want) - set(TABLES)
if missing:
    failed.append(f"no part of {', '.join(sorted(missing))}")
rows_of, read = {}, globals()[f"of_{PROGRAM}"]
for table in TABLES:
    rows, dates, figures = read(table)
    folders = len(list((HISTORY / table).glob("date=*")))
    rows_of[table] = rows
    if rows == 0 or dates != folders:
        failed.append(f"{table}: {rows} rows of {dates} dates in {folders} folders")
    if table in want and figures != want[table]:
        failed.append(f"{table}: {SUMS[table]} are {figures}, the baseline says {want[table]}")
if len(sys.argv) > 4:  # every program counts the same rows
    path = pathlib.Path(sys.argv[4])
    known = json.loads(path.read_text()) if path.exists() else rows_of
    if known != rows_of:
        failed.append(f"rows are {rows_of}, another program found {known}")
    path.write_text(json.dumps(known))
version = importlib.import_module("pyspark" if PROGRAM == "spark" else PROGRAM).__version__
print("\n".join(failed + [f"{len(TABLES)} tables, {sum(rows_of.values())} rows with {PROGRAM} {version}"]))
sys.exit(1 if failed else 0)
