"""Fifteen days of an origin's log whose figures are known, one or two files a day, and what must be counted in them.

logs.py FOLDER: writes FOLDER/logs/*.log-YYYYMMDD, FOLDER/ranges/*.json and FOLDER/expected.json.
"""
import collections
import datetime
import json
import pathlib
import sys

FIRST = datetime.date(2026, 2, 24)
DAYS = 15
SMARTPHONE = ("Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) "
              "Chrome/131.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
DESKTOP = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
BINGBOT = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
GPTBOT = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"
PEOPLE = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"


def requests_of(day):
    """(second, host, client, bot, user agent, status, bytes, path, milliseconds) of one day, in no order."""
    for n in range(576):
        status = 429 if n % 48 == 0 else 304 if n % 4 == 1 else 200
        yield n * 150, "www.example.com", "198.51.100.5", "Googlebot", SMARTPHONE, status, 0 if status == 304 else 5000, f"/p/{n}", 40 + n % 20
    for n in range(24):  # the busiest minute of every day, four in each second
        yield 23100 + n // 4, "www.example.com", "198.51.100.6", "Googlebot", DESKTOP, 200, 5000, f"/q/{n}", 200
    for n in range(60):  # somebody else
        yield 10800 + n * 2, "www.example.com", "203.0.113.9", "Googlebot", DESKTOP, 200, 100, f"/s/{n}", 10
    for n in range(100):
        yield 50000 + n * 30, "api.example.com", "192.0.2.80", "Bingbot", BINGBOT, 200, 300, f"/v1/{n}", 8
    for n in range(200):
        wasted = n < 10 + 2 * day
        yield 60000 + n * 20, "www.example.com", "192.0.2.90", "GPTBot", GPTBOT, 404 if wasted else 200, 150, "/old?id=1" if wasted else f"/g/{n}", 15
    for n in range(240):
        yield n * 360, "www.example.com", f"192.0.2.{n % 50}", "(people)", PEOPLE, 200, 9000, f"/h/{n}", 30


def main(folder):
    folder = pathlib.Path(folder)
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    (folder / "ranges").mkdir(exist_ok=True)
    total = collections.Counter()
    by_bot, refused, waste, seconds = (collections.Counter() for _ in range(4))
    for day in range(DAYS):
        date = FIRST + datetime.timedelta(days=day)
        lines = []
        for second, host, client, bot, agent, status, size, path, ms in requests_of(day):
            stamp = f"{date:%d/%b/%Y}:{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
            lines.append((second, f'{host}:443 {client} - - [{stamp}] "GET {path} HTTP/1.1" {status} {size} "-" "{agent}" rt={ms / 1000:.3f}\n'))
            total.update(requests=1, bytes=size)
            by_bot[bot] += 1
            if client == "203.0.113.9":
                total["spoofed"] += 1
            if status == 429:
                refused[str(date)] += 1
            if status >= 400 and bot != "(people)":
                waste[str(date - datetime.timedelta(days=date.weekday()))] += 1
        lines.sort()
        # Dates with two logs, for `history compact`.
        api = [line for _, line in lines if day < 5 and line.startswith("api.")]
        rest = [line for _, line in lines if day >= 5 or not line.startswith("api.")]
        for name, part in [("access.log", rest), ("api.log", api)]:
            if part:
                (folder / "logs" / f"{name}-{date:%Y%m%d}").write_text("".join(part))
                total["logs"] += 1
    for name, prefix in [("googlebot", "198.51.100.0/27"), ("common-crawlers", "198.51.100.32/27")]:
        ranges = {"creationTime": "2026-03-09T14:46:45.000000", "prefixes": [{"ipv4Prefix": prefix}]}
        (folder / "ranges" / f"{name}.json").write_text(json.dumps(ranges))
    expected = dict(total) | {"days": DAYS, "by_bot": by_bot, "refused": refused, "waste": waste}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))


main(sys.argv[1])
