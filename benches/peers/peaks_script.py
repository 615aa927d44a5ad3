"""Requests per minute per crawler, statuses and error URLs as many scripts do it: one expression and one strptime a line.

Arguments: log, tokens. Prints what benches/peers/answers prints.
"""

import re
import sys
from collections import Counter, defaultdict
from datetime import datetime

LINE = re.compile(
    r'(?P<client>\S+) \S+ \S+ \[(?P<time>[^\]]+)\] "\S+ (?P<url>\S+) [^"]*" (?P<status>\d{3}) \d+ "[^"]*" "(?P<agent>[^"]*)"'
)

log, tokens = sys.argv[1:]
crawler = re.compile(tokens, re.IGNORECASE)
minutes, status, waste = defaultdict(Counter), Counter(), Counter()
with open(log, encoding="utf-8", errors="replace") as lines:
    for line in lines:
        fields = LINE.match(line)
        if not fields:
            continue
        name = crawler.search(fields["agent"])
        if not name:
            continue
        minute = datetime.strptime(fields["time"], "%d/%b/%Y:%H:%M:%S %z").replace(second=0)
        minutes[name[0].lower()][minute] += 1
        status[fields["status"]] += 1
        if fields["status"] >= "400":
            waste[fields["url"]] += 1
for name, counts in minutes.items():
    print("peak", name, max(counts.values()))
for code, hits in status.items():
    print("status", code, hits)
for url, hits in waste.most_common(20):
    print("waste", hits, url)
