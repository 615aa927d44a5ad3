"""Asks the reference for every host and night on standard input; see random_tables.rs."""
import json, sys, time
from ceilings_ref import *
Q = json.load(sys.stdin)
EAST = {"Europe/Berlin": 60, "America/New_York": -300, "Asia/Kolkata": 330}
def iso(m): return None if m is None else time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(60 * m))
def rules(d): return [dict(rule=k, value=v) for k, v in d.items()]
def conv(e):
    m, ev, i = to_manifest(e), e["evidence"], e["evidence"]["inputs"]
    m["max_concurrency"] = e["max_concurrency"]
    kind = {168: "hour_of_week", 48: "hour_of_day_type", 24: "hour_of_day", 1: "flat"}[e["schedule_kind"]]
    if m["schedule"]: m["schedule"] = dict(kind=kind, requests_per_minute=e["schedule"])
    m["evidence"] = dict(
        max_requests_per_minute=dict(
            value=ev["value"], bound_by=e["bound_by"], rule=ev["rule"], inputs=i, candidates=rules(e["candidates"]),
            runner_up=rules(ev["runner_up"])[0] if ev["runner_up"] else None, minutes=[iso(x) for x in ev["minutes"]],
            window={"from": iso(ev["window"]["start"]), "to": iso(ev["window"]["end"]),
                    "minutes_covered": ev["window"]["covered_minutes"]},
            not_used=ev["not_used"], capacity=ev["capacity"]),
        max_concurrent_connections=dict(rule=e["concurrency_rule"], need=e["little_need"], latency_ms_mean=e["mean_latency_ms"]),
        L=e["L"], L_best=e["L_best"], L_best_at=iso(e["L_best_at"]), c429=e["c429"], c429_state=e["c429_state"],
        burst_429=e["burst_429"], quota=e["quota"], quota_state=e["quota_state"], outliers=e["outliers"],
        utilisation=e["utilisation"], window_to=iso(e["window_to"]))
    return m
def night(h, n, prev):
    s = h["site"]
    cfg = Config(tz=EAST.get(s.get("time_zone"), 0), cdn=s.get("cdn_hit_ratio"),
                 crawl_delay_ms=1000 * s["crawl_delay_seconds"] if "crawl_delay_seconds" in s else None,
                 operator_max=s.get("operator_max_rpm"), operator_max_all=s.get("operator_max_rpm_all_bots"),
                 published=s.get("published", {}), gateway_concurrency=s.get("gateway_concurrency"),
                 account_age_days=s.get("account_age_days"), enforce=frozenset(s.get("enforce", [])))
    bots = {b: {v: {r[0]: BotMin(*r[1:6], tuple(map(tuple, r[6])), *r[7:]) for r in rows if r[0] <= n["end"]}
                for v, rows in vs.items()} for b, vs in h["bots"].items()}
    host = {m: HostMin(*x) for m, x in h["load"] if m <= n["end"]}
    return recommend(Input(bots, host, [(Q["start"], n["end"])], n["end"], category=h["category"], prev=prev,
                           partial=n["partial"], lines=1000 * (1 + Q["nights"].index(n)), rejects=n["rejects"], cfg=cfg))
out, prevs = [], {}
def least(key): return min([h["site"][key] for h in Q["hosts"] if key in h["site"]], default=None)
for n in Q["nights"]:
    results = {h["name"]: night(h, n, [prevs[h["name"]]] if h["name"] in prevs else []) for h in Q["hosts"]}
    all_hosts = list(results.values())
    out.append(dict(scopes=scopes(all_hosts, egress_per_hour=least("egress_per_hour"), credential_per_hour=least("credential_per_hour"),
                                  identity_per_day=least("identity_per_day"), account_age_days=least("account_age_days")),
                    hosts={k: dict(conv(r["all_bots"]), bots={b: conv(e) for b, e in r["bots"].items()}) for k, r in results.items()}))
    prevs = {k: dict(window_to=r["window"]["end"], bots=r["bots"], all_bots=r["all_bots"]) for k, r in results.items()}
json.dump(out, sys.stdout)
